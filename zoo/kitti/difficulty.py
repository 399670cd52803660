"""How hard an object is to find, as KITTI judges it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

IGNORED = -1
MIN_HEIGHT = (40.0, 25.0, 25.0)
"""Pixels of the image box: easy, moderate, hard. Source: the development kit of KITTI's object benchmark."""
MAX_OCCLUSION = (0, 1, 2)
MAX_TRUNCATION = (0.15, 0.3, 0.5)


def difficulties(
    heights: Sequence[float] | NDArray[np.float64], occlusions: Sequence[int], truncations: Sequence[float]
) -> NDArray[np.int64]:
    """int64 [n]: 0 easy, 1 moderate, 2 hard, -1 none of these: ignored. `heights`: pixels of the image boxes."""
    levels = np.full(len(heights), IGNORED, np.int64)
    for level in (2, 1, 0):
        inside = np.asarray(heights) > MIN_HEIGHT[level]
        inside &= np.asarray(occlusions) <= MAX_OCCLUSION[level]
        inside &= np.asarray(truncations) <= MAX_TRUNCATION[level]
        levels[inside] = level
    return levels
