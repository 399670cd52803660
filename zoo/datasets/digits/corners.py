"""Keypoints of the digits, made from their geometry: where a stroke reaches furthest into each corner."""

import numpy as np
from numpy.typing import NDArray

CORNERS = ("top left", "top right", "bottom right", "bottom left")
VISIBLE = 2  # as COCO counts


def corner_points(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """A stroke's mask bool [H, W], not empty -> float32 [4, 3]: x, y, visibility, in the order of CORNERS.

    Each is the middle of the pixel that lies furthest in the direction of its corner (x and y count alike); of several
    the topmost, then the leftmost.
    """
    y, x = np.nonzero(mask)
    rows = [np.argmin(x + y), np.argmin(y - x), np.argmax(x + y), np.argmax(y - x)]
    points = np.stack([x[rows], y[rows]], axis=1) + 0.5
    return np.concatenate([points, np.full((len(CORNERS), 1), VISIBLE)], axis=1).astype(np.float32)
