"""Rows whose number or order depends on the data (proposals, detections), compared as sets."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[Any]
BOX = 4
DIFFERENT = 0.05  # of the rows, or one: so many may come and go where near-equal scores or overlaps are decided


class RowSet(NamedTuple):
    """`rows`: the graph's rows in PyTorch's order. `in_order`: they were in it already, and none differs.

    `different`: how many of PyTorch's rows have no equal, and of the graph's boxes that are in no slot of PyTorch's,
    which are `extra`. `allowed`: how many may.
    """

    rows: Array
    in_order: bool
    different: int
    allowed: int
    same: NDArray[np.bool_]
    extra: int = 0


def row_set(expected: Array, actual: Array, threshold: float) -> RowSet:
    """`expected` [n, ...], `actual` [m, ...], rows of one shape; equal within `threshold` of the largest value."""
    count = len(expected)
    allowed = max(1, int(DIFFERENT * count))
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)) or 1.0
    if len(actual) >= count:
        errors = _row_errors(expected, actual[:count]) / scale
        extra = _used_beyond(actual[count:]) if expected.shape[1:] == (BOX,) else 0
        if (errors <= threshold).all() and not extra:
            return RowSet(actual[:count], in_order=True, different=0, allowed=allowed, same=errors <= threshold)
    flat_one, flat_two = (_flat(side).astype(np.float64) for side in (expected, actual))
    flat_one, flat_two = (np.nan_to_num(side, posinf=0.0, neginf=0.0) for side in (flat_one, flat_two))
    squares = (flat_one**2).sum(1)[:, None] + (flat_two**2).sum(1)[None] - 2 * flat_one @ flat_two.T
    rows, columns = linear_sum_assignment(np.sqrt(np.maximum(squares, 0.0)))
    partner = np.zeros_like(expected, dtype=np.float64)
    partner[rows] = actual[columns]
    errors = _row_errors(expected, partner) / scale
    errors[np.setdiff1d(np.arange(count), rows)] = np.inf
    same = errors <= threshold
    extra = 0
    if expected.shape[1:] == (BOX,):
        extra = max(0, _used_beyond(actual) - count)
    return RowSet(
        partner, in_order=False, different=int((~same).sum()) + extra, allowed=allowed, same=same, extra=extra
    )


def _row_errors(expected: Array, actual: Array) -> NDArray[np.float64]:
    gap = np.abs(expected.astype(np.float64) - actual)
    gap[np.isnan(expected) & np.isnan(actual)] = 0.0
    worst: NDArray[np.float64] = _flat(np.nan_to_num(gap, nan=np.inf)).max(axis=1, initial=0.0)
    return worst


def _flat(rows: Array) -> Array:
    """[n, ...] -> [n, m], also where n is 0."""
    return rows.reshape(len(rows), int(np.prod(rows.shape[1:])))


def _used_beyond(boxes: Array) -> int:
    """How many slots hold a box; empty ones hold zeros."""
    return int(_flat(boxes).any(axis=1).sum())
