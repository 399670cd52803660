"""Boxes in 3D that stand on the ground: their overlap from above and in space.

A box is x y z length width height yaw: metres, z the height of its centre, length along its heading, and the yaw in
radians from the x axis, counter-clockwise seen from above.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.geometry.rotated import finite_boxes, rotated_intersection, rotated_iou

Array = NDArray[np.float64]

BEV = (0, 1, 3, 4, 6)
"""The columns of a box seen from above: x y length width yaw, as `rotated_iou` takes them."""


def bev_boxes(boxes: NDArray[Any]) -> Array:
    """Boxes [n, 7] seen from above, float64 [n, 5]."""
    return np.asarray(boxes, np.float64).reshape(-1, 7)[:, BEV]


def bev_iou(first: NDArray[Any], second: NDArray[Any]) -> Array:
    """Intersection over union from above, of boxes [n, 7] and [m, 7] -> float64 [n, m]."""
    return rotated_iou(bev_boxes(first), bev_boxes(second))


def iou_3d(first: NDArray[Any], second: NDArray[Any]) -> Array:
    """Intersection over union of the volumes of boxes [n, 7] and [m, 7] -> float64 [n, m]; 0 where both are empty."""
    a, b = finite_boxes(first, 7), finite_boxes(second, 7)
    top = np.minimum((a[:, 2] + a[:, 5] / 2)[:, None], (b[:, 2] + b[:, 5] / 2)[None])
    bottom = np.maximum((a[:, 2] - a[:, 5] / 2)[:, None], (b[:, 2] - b[:, 5] / 2)[None])
    common = rotated_intersection(bev_boxes(a), bev_boxes(b)) * np.clip(top - bottom, 0.0, None)
    union = a[:, 3:6].prod(axis=1)[:, None] + b[:, 3:6].prod(axis=1)[None] - common
    iou: Array = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return iou


def wrapped_angle(angle: NDArray[Any]) -> NDArray[Any]:
    """Angles in radians as the same directions in [-pi, pi), in their dtype."""
    angle = np.asarray(angle)
    turn = np.asarray(2 * np.pi, angle.dtype)
    wrapped: NDArray[Any] = angle - turn * np.floor(angle / turn + angle.dtype.type(0.5))
    low = np.asarray(-np.pi, angle.dtype)
    return np.where(wrapped >= -low, low, np.maximum(wrapped, low)).astype(angle.dtype)
