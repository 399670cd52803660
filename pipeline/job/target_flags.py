"""The flags of a target whose values have a form of their own: axes and their ranges."""

import re
from collections.abc import Iterable, Sequence

from zoo.errors import InputError, nearest
from zoo.target import BATCH, AxisRange


def parse_dynamic(flags: Iterable[str], known: Sequence[str]) -> dict[str, AxisRange | None]:
    """From the command line's ``AXIS`` or ``AXIS=MIN:OPT:MAX``. ``known``: the axes of the input kind.

    Raises InputError that names the flag.
    """
    axes: dict[str, AxisRange | None] = {}
    for flag in flags:
        axis, separator, bounds = flag.partition("=")
        if axis not in known:
            raise InputError(f'--dynamic {flag}: unknown axis "{axis}"; {nearest(axis, known)}')
        if axis in axes:
            raise InputError(f"--dynamic {flag}: {axis} is given twice; give each axis once")
        axes[axis] = _bounds(flag, axis, bounds) if separator else None
    return axes


def _bounds(flag: str, axis: str, text: str) -> AxisRange:
    example = "batch=1:2:8" if axis == BATCH else f"{axis}=320:640:960"
    if not re.fullmatch(r"\d+:\d+:\d+", text, re.ASCII):
        raise InputError(f"--dynamic {flag}: expected three integers min:opt:max, for example {example}")
    low, preferred, high = map(int, text.split(":"))
    cure = f"Give min:opt:max in rising order, for example {example}."
    if low < 1:
        raise InputError(f"--dynamic {flag}: min {low} is below 1. {cure}")
    for smaller, value, larger, bound in (("min", low, "opt", preferred), ("opt", preferred, "max", high)):
        if value > bound:
            if low > high:
                raise InputError(f"--dynamic {flag}: min {low} is above max {high}. {cure}")
            raise InputError(f"--dynamic {flag}: {smaller} {value} is above {larger} {bound}. {cure}")
    return AxisRange(low, preferred, high)
