"""An axis cut at the edges of its sliding windows, and which of them cover each segment."""

from itertools import pairwise
from typing import NamedTuple


class Segment(NamedTuple):
    """Elements start..stop of an axis, all covered by the same windows."""

    start: int
    stop: int
    windows: tuple[int, ...]


def segments(starts: list[int], crop: int) -> list[Segment]:
    """The axis cut at every window edge, in order, without gaps."""
    edges = sorted({edge for start in starts for edge in (start, start + crop)})
    return [
        Segment(a, b, tuple(i for i, start in enumerate(starts) if start <= a and b <= start + crop))
        for a, b in pairwise(edges)
    ]
