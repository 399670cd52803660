"""The tables of a benchmark as words, the same on the terminal and on the page."""

from collections.abc import Sequence

from backends.benchmark.rows import NOISY, Row, Stability
from backends.calls import Stages
from zoo.byte_sizes import format_size
from zoo.input_kinds import InputKind

SETTING_HEADS = ("row", "what", "threads", "workers", "batch", "p50 ms", "p90 ms", "p99 ms")
STAGE_HEADS = ("row", "what", *Stages._fields)
COLD_HEADS = ("row", "what", "first result s", "loading s", "peak memory")
NONE = "-"


def call_heads(kind: InputKind) -> tuple[str, ...]:
    """The heads of `call_rows`."""
    return (*SETTING_HEADS, f"{kind.plural}/s", f"time per {kind.noun}")


def text_heads(kind: InputKind) -> tuple[str, ...]:
    """The heads of the columns that hold text."""
    return ("row", "what", f"time per {kind.noun}")


def call_rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """What a call takes, and how many images are done in a second."""
    return [
        (
            *_named(row),
            "default" if row.threads is None else str(row.threads),
            NONE if row.workers is None else str(row.workers),
            str(row.batch),
            *(f"{value:.1f}" for value in (row.p50, row.p90, row.p99, row.images_per_second)),
            comparison(row),
        )
        for row in rows
    ]


def stage_rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """How the time of a call is divided."""
    return [(*_named(row), *(f"{row.shares[stage]:.1%}" for stage in Stages._fields)) for row in rows]


def cold_rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The start in a process of its own; no rows where none was started."""
    return [
        (*_named(row), f"{row.cold.first:.2f}", f"{row.cold.load:.2f}", format_size(row.cold.memory, 0))
        for row in rows
        if row.cold is not None
    ]


def comparison(row: Row) -> str:
    """How long an image takes, as a part of what it takes in another row."""
    if row.compared_with is None:
        return ""
    if row.ratio is None:
        return row.verdict
    low, ratio, high = row.ratio
    return f"{ratio:.2f} of row {row.compared_with} ({low:.2f} to {high:.2f}): {row.verdict}"


def stability_words(stability: Stability) -> str:
    """One sentence about the machine."""
    if stability.interval is None or stability.noise is None:
        return f"stability: {stability.verdict}; give --rounds 6 or more"
    low, _, high = stability.interval
    measured = f"stability: row 1, measured twice, takes {low:.2f} to {high:.2f} of its own time"
    if stability.noise > NOISY:
        return f"{measured}: {stability.verdict}; measure again on an idle machine"
    return f"{measured}; differences below {stability.noise:.1%} mean nothing"


def _named(row: Row) -> tuple[str, str]:
    return str(row.number), row.subject
