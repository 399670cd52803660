"""Pairs of detections within the gates, as many as there can be."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def pairs_within(error: NDArray[np.float64]) -> dict[int, int]:
    """One-to-one pairs of rows and columns of `error` [n, m], as many as can be made where it is 1 or less.

    It is infinite where nothing may be paired. Within the gates it matters how many find a partner, and not which, so
    that augmenting paths (Kuhn) are exact; the nearest partner is tried first, as twins should keep their masks.
    """
    choices = [[int(c) for c in np.argsort(row, kind="stable") if row[c] <= 1.0] for row in error]
    owner: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column in choices[row]:
            if column in tried:
                continue
            tried.add(column)
            if column not in owner or place(owner[column], tried):
                owner[column] = row
                return True
        return False

    for row in range(len(choices)):
        place(row, set())
    return {row: column for column, row in sorted(owner.items())}


def mask_iou(first: Array, second: Array) -> NDArray[np.float64]:
    """Masks [n, h, w] and [m, h, w], set where they are not 0 -> [n, m]; 0 where both are empty."""
    a, b = ((masks != 0).reshape(len(masks), -1).astype(np.float32) for masks in (first, second))
    common = (a @ b.T).astype(np.float64)
    union = a.sum(axis=1)[:, None] + b.sum(axis=1)[None] - common
    iou: NDArray[np.float64] = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return iou
