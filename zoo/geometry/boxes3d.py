"""Boxes in 3D that stand on the ground: their overlap from above and in space.

A box is x y z length width height yaw: metres, z the height of its centre, length along its heading, and the yaw in
radians from the x axis, counter-clockwise seen from above.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.geometry.box_form import BoxForm, Compared
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


class Boxes3D(BoxForm):
    """x y z length width height yaw: the first six in metres, and the yaw modulo a full turn; overlaps from above.

    Their columns are x y z l w h yaw: tables have columns for the height and width of an image.
    """

    columns: ClassVar[tuple[str, ...]] = ("x", "y", "z", "l", "w", "h", "yaw")
    units: ClassVar[Mapping[str, str]] = {"boxes": "m", "yaw": "rad"}

    def iou(self, first: NDArray[Any], second: NDArray[Any]) -> Array:
        """As non-maximum suppression takes it."""
        return bev_iou(first, second)

    def compared(self, first: NDArray[Any], second: NDArray[Any]) -> Mapping[str, Compared]:
        """Centre and sides; and the yaw, that of the second as the same direction nearest to the first's."""
        ours, theirs = np.asarray(first, np.float64), np.asarray(second, np.float64)
        yaw = ours[:, 6:]
        nearest = yaw + wrapped_angle(theirs[:, 6:] - yaw)
        return {"boxes": Compared(ours[:, :6], theirs[:, :6]), "yaw": Compared(yaw, nearest)}

    def rows(self, boxes: NDArray[Any]) -> NDArray[Any]:
        """The yaw as the end of a pointer of one metre: a milliradian moves it by a millimetre, and it never jumps."""
        yaw = np.asarray(boxes[..., 6:], np.float64)
        rows: NDArray[Any] = np.concatenate((boxes[..., :6], np.cos(yaw), np.sin(yaw)), axis=-1)
        return rows


BOXES_3D = Boxes3D()
