"""How far two tensors are apart."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BLOCK = 1 << 20  # elements at once: their float64 copies are what is held


@dataclass(frozen=True)
class Figures:
    """`relative`: the largest error as a part of PyTorch's largest magnitude; infinite where NaN or infinities differ.

    `snr`: decibels of PyTorch's power to that of the error, None where nothing differs. `cosine` None for zeros.
    `nan`, `infinite`: how many PyTorch has, and the graph. `count`: elements; all errors are of those that are finite
    on both sides.
    """

    max_error: float
    mean_error: float
    relative: float
    cosine: float | None
    snr: float | None
    nan: tuple[int, int]
    infinite: tuple[int, int]
    count: int

    def __add__(self, other: "Figures") -> "Figures":
        """Of both: the worst of each figure, the mean over all elements."""
        count = self.count + other.count
        weighted = self.mean_error * self.count + other.mean_error * other.count
        cosines = [one.cosine for one in (self, other) if one.cosine is not None]
        noises = [one.snr for one in (self, other) if one.snr is not None]
        return Figures(
            max(self.max_error, other.max_error),
            weighted / max(1, count),
            max(self.relative, other.relative),
            min(cosines, default=None),
            min(noises, default=None),
            (self.nan[0] + other.nan[0], self.nan[1] + other.nan[1]),
            (self.infinite[0] + other.infinite[0], self.infinite[1] + other.infinite[1]),
            count,
        )


def figures(expected: Array, actual: Array) -> Figures:
    """Of two tensors of one shape."""
    one, two = expected.reshape(-1), actual.reshape(-1)
    largest = total = peak = dot = power_one = power_two = noise = 0.0
    agree = True
    nan, infinite = [0, 0], [0, 0]
    finite_count = 0
    for start in range(0, one.size, BLOCK):
        a, b = (side[start : start + BLOCK].astype(np.float64) for side in (one, two))
        finite = np.isfinite(a) & np.isfinite(b)
        if not finite.all():
            agree &= bool(np.array_equal(a[~finite], b[~finite], equal_nan=True))
            for side, values in enumerate((a, b)):
                nan[side] += int(np.isnan(values).sum())
                infinite[side] += int(np.isinf(values).sum())
            a, b = a[finite], b[finite]
        gap = np.abs(a - b)
        finite_count += a.size
        largest, peak = max(largest, gap.max(initial=0.0)), max(peak, np.abs(a).max(initial=0.0))
        total += float(gap.sum())
        dot, power_one, power_two = dot + float(a @ b), power_one + float(a @ a), power_two + float(b @ b)
        noise += float(gap @ gap)
    norm = math.sqrt(power_one * power_two)
    relative = largest / peak if peak else (0.0 if not largest else math.inf)
    return Figures(
        float(largest),
        total / max(1, finite_count),
        float(relative) if agree else math.inf,
        dot / norm if norm else None,
        10 * math.log10(power_one / noise) if noise and power_one else None,
        (nan[0], nan[1]),
        (infinite[0], infinite[1]),
        int(one.size),
    )
