"""The smallest rectangles around points."""

import math
from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.geometry.rotated_boxes import in_convention


def smallest_boxes(outlines: Iterable[NDArray[Any]]) -> NDArray[np.float32]:
    """The points float32 [k, 2] of n objects -> float32 [n, 5]: x y w h angle of the smallest rectangle around each.

    Pixels and radians, in the convention le90.
    """
    rows = []
    for outline in outlines:
        center, sides, degrees = cv2.minAreaRect(outline)
        rows.append((*center, *sides, math.radians(degrees)))
    return in_convention(np.array(rows, np.float64).reshape(-1, 5), "le90")
