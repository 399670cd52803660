"""The verdict on one tensor of the graph."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.alignment.figures import Figures, figures
from pipeline.alignment.layouts import laid_back
from pipeline.alignment.matching import OTHER_TENSOR, Match
from pipeline.alignment.records import DIFFERS, EQUAL, SET, UNKNOWN
from pipeline.alignment.row_sets import row_set

Array = NDArray[Any]


class Judged(NamedTuple):
    """`force`: PyTorch's tensor in the graph's layout, where what follows can only be judged on that.

    `astray`: how many rows of a set have no equal, and were let pass as near ties.
    """

    verdict: str
    figures: Figures | None = None
    note: str = ""
    force: Array | None = None
    astray: int = 0


def judge(match: Match, actual: Array, threshold: float, *, chosen: bool, sure: bool = True) -> Judged:
    """`actual`: the graph's own tensor. `chosen`: whether a choice by data (top-k, NMS) lies before it in the graph.
    `sure`: whether the two belong together by their order, and not by their shapes alone.
    """
    expected, fit = match.expected, match.layout
    if expected is None or fit is None:
        shapes = "nothing" if expected is None else f"{list(expected.shape)}"
        return Judged(UNKNOWN, None, f"PyTorch has {shapes} of the graph's shape {list(actual.shape)}")
    if not fit.rows:
        measured = figures(expected, fit.array)
        if measured.relative <= threshold:
            return Judged(EQUAL, measured, fit.how)
        if fit.guess and measured.relative > OTHER_TENSOR:
            return Judged(UNKNOWN, measured, f"{fit.how}, perhaps wrongly")
        if not (chosen and expected.ndim and len(expected) > 1):
            return Judged(DIFFERS, measured, fit.how)
    judged = _judge_rows(expected, fit.array, actual, threshold, fit.how)
    if judged.verdict == DIFFERS and not sure:  # a tensor of other rows may have taken the place
        return Judged(UNKNOWN, judged.figures, f"{judged.note}, perhaps of another tensor")
    return judged


def _judge_rows(expected: Array, rows: Array, actual: Array, threshold: float, how: str) -> Judged:
    """Rows of a choice by data: as a set."""
    paired = row_set(expected, rows, threshold)
    force = None if paired.in_order else _forced(expected, actual)
    # few may differ where a near tie fell the other way; never half of them
    if paired.different > min(paired.allowed, (len(expected) - 1) // 2):
        measured = figures(expected, paired.rows)
        words = f"{paired.different} of {len(expected)} rows have no equal"
        return Judged(DIFFERS, measured, "; ".join(filter(None, (words, how))), force)
    measured = figures(expected[paired.same], paired.rows[paired.same])
    if paired.in_order:
        return Judged(EQUAL, measured, how)
    words = (
        f"{paired.different} of {len(expected)} rows were chosen differently" if paired.different else "another order"
    )
    return Judged(SET, measured, f"{words}; PyTorch's are used from here on", force, paired.different)


def at_fault(judged: Judged, match: Match, count: int) -> Judged:
    """A set of which `count` rows differ for another reason than rounding. `judged`: as it was let pass."""
    assert match.expected is not None and match.layout is not None  # noqa: PT018 - it was judged
    measured = figures(match.expected, row_set(match.expected, match.layout.array, 0.0).rows)
    words = f"{count} of {len(match.expected)} rows have no equal, not even from PyTorch's own tensors"
    return Judged(DIFFERS, measured, "; ".join(filter(None, (words, match.layout.how))), judged.force)


def _forced(expected: Array, actual: Array) -> Array | None:
    if expected.size == actual.size:
        return np.ascontiguousarray(expected.reshape(actual.shape)).astype(actual.dtype)
    try:
        return laid_back(expected, actual)
    except ValueError:  # more rows than the graph has room for
        return None
