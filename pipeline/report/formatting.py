"""How numbers are written, the same in every table."""

from collections.abc import Sequence

NOTHING = ""


def format_error(value: float | None) -> str:
    """An error with three digits; what is not finite has no number."""
    return "not finite" if value is None else f"{value:.3g}"


def format_milliseconds(value: float) -> str:
    """A time in milliseconds, without its unit: three digits, or all those before the point."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"  # noqa: PLR2004 - as many as three digits have


def format_shape(shape: Sequence[int | str]) -> str:
    """Sides with a cross between them."""
    return " x ".join(map(str, shape)) or "one number"


def format_share(error: float | None, gate: float | None) -> str:
    """How much of the gate an error takes; nothing for decibels, which are below zero and have no part."""
    if error is None or gate is None or gate <= 0:
        return NOTHING
    share = error / gate
    return f"{share:.1%}" if share < 10 else f"{share:.0f} times"  # noqa: PLR2004 - above it per cent are hard to read
