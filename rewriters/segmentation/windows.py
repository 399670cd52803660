"""Where sliding windows lie on one axis, and which of them cover each segment between their edges."""

from itertools import pairwise
from typing import NamedTuple


class Segment(NamedTuple):
    """Elements start..stop of an axis, all covered by the same windows."""

    start: int
    stop: int
    windows: tuple[int, ...]


def window_starts(size: int, crop: int, stride: int) -> list[int]:
    """First elements of the windows; the last window is moved inside, and one window covers an axis below the crop.

    The rule of mmseg's slide_inference. `size`, `crop` and `stride` in elements.
    """
    count = max(size - crop + stride - 1, 0) // stride + 1
    return [max(min(i * stride + crop, size) - crop, 0) for i in range(count)]


def segments(starts: list[int], crop: int) -> list[Segment]:
    """The axis cut at every window edge, in order, without gaps."""
    edges = sorted({edge for start in starts for edge in (start, start + crop)})
    return [
        Segment(a, b, tuple(i for i, start in enumerate(starts) if start <= a and b <= start + crop))
        for a, b in pairwise(edges)
    ]
