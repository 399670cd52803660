"""How far arrays of one name are apart, as parts of their range: for plots and trials, not for gates."""

from collections import Counter
from collections.abc import Sequence
from math import ceil, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.comparison import value_range

Array = NDArray[Any]
BARS = 50  # of a histogram, at most


def error_counts(pairs: Sequence[tuple[Array, Array]]) -> tuple[float, dict[int, int]]:
    """A unit, a power of ten of the range, and how many values are how many units apart; at most BARS units.

    Pairs of two shapes, and values that are not finite, are left out.
    """
    apart = [_parts(ours, theirs) for ours, theirs in pairs if ours.shape == theirs.shape]
    largest = max((float(part.max(initial=0.0)) for part in apart), default=0.0)
    unit = 10.0 ** ceil(log10(largest / BARS)) if largest else 1.0
    counts: Counter[int] = Counter()
    for part in apart:
        levels, numbers = np.unique(np.rint(part / unit).astype(np.int64), return_counts=True)
        counts.update(dict(zip(levels.tolist(), numbers.tolist(), strict=True)))
    return unit, dict(sorted(counts.items()))


def relative_distance(ours: Array, theirs: Array) -> float:
    """|theirs - ours| over the deviation of ours; 1 for two shapes, and for what is not finite."""
    if ours.shape != theirs.shape:
        return 1.0
    first, second = ours.astype(np.float64), theirs.astype(np.float64)
    distance = float(np.linalg.norm(second - first))
    norm = float(np.linalg.norm(first - first.mean())) or float(np.linalg.norm(first)) or 1.0
    return distance / norm if np.isfinite(distance) else 1.0


def _parts(ours: Array, theirs: Array) -> NDArray[np.float64]:
    """Absolute errors as parts of the range, flat, without those that are not finite."""
    with np.errstate(invalid="ignore"):
        first, second = ours.astype(np.float64), theirs.astype(np.float64)
        error = np.abs(first - second) / (value_range(first) or 1.0)
    return error[np.isfinite(error)]
