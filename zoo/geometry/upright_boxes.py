"""Boxes along the axes: x1 y1 x2 y2, two opposite corners in pixels."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from zoo.geometry.box_form import Array, BoxForm, Compared, Floats


class UprightBoxes(BoxForm):
    """x1 y1 x2 y2; the gate holds for each side."""

    columns: ClassVar[tuple[str, ...]] = ("x1", "y1", "x2", "y2")
    units: ClassVar[Mapping[str, str]] = {"boxes": "px"}

    def iou(self, first: Array, second: Array) -> Floats:
        """See BoxForm."""
        return box_iou(first, second)

    def compared(self, first: Array, second: Array) -> Mapping[str, Compared]:
        """The sides themselves."""
        return {"boxes": Compared(first.astype(np.float64), second.astype(np.float64))}


UPRIGHT = UprightBoxes()


def box_iou(first: Array, second: Array) -> Floats:
    """Intersection over union of boxes [n, 4] and [m, 4] -> [n, m]; 0 where both boxes are empty."""
    a, b = first.astype(np.float64)[:, None], second.astype(np.float64)[None]
    sides = np.clip(np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2]), 0, None)
    common = sides[..., 0] * sides[..., 1]
    union = _area(a) + _area(b) - common
    iou: Floats = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return iou


def _area(boxes: Floats) -> Floats:
    area: Floats = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return area
