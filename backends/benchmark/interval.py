"""The median of some values, and where it would be if they were measured again."""

from collections.abc import Sequence
from math import comb
from statistics import median
from typing import NamedTuple

OUTSIDE = 0.025  # on each side


class Interval(NamedTuple):
    """A median, and the bounds between which it is with a probability of 95 %, whatever the values' distribution."""

    low: float
    median: float
    high: float


def median_interval(values: Sequence[float]) -> Interval | None:
    """From the ranks of the values; None for fewer than six, of which no two are far enough from the median.

    See any book on order statistics: the median is below the k-th smallest of n values with the probability that fewer
    than k of n coins show heads.
    """
    count, rank, below = len(values), 0, 0.0
    while below + comb(count, rank) / 2**count <= OUTSIDE:
        below += comb(count, rank) / 2**count
        rank += 1
    if not rank:
        return None
    ordered = sorted(values)
    return Interval(ordered[rank - 1], median(ordered), ordered[count - rank])
