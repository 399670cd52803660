"""Rotated boxes in images: x y w h angle, compared by their corners, and the conventions of the angle.

The angle is in radians, from the x axis to the side w; y points down, so that a positive angle turns clockwise as one
looks at the image. One rectangle has several such rows of numbers: half a turn leaves it as it is, and so does a
quarter of a turn with w and h swapped. A convention takes one of them.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.geometry.box_form import Array, BoxForm, Compared, Floats
from zoo.geometry.rotated import rotated_corners, rotated_iou

QUARTER, HALF = np.pi / 2, np.pi
CORNERS = 4
CONVENTIONS = ("le90", "oc", "le135")
"""As mmrotate names them. le90: w is the longer side, -90 <= angle < 90 degrees. oc, as OpenCV since 4.5.1: 0 < angle
<= 90 degrees, either side may be the longer one. le135: w is the longer side, -45 <= angle < 135 degrees."""
LOWEST: Mapping[str, float] = {"le90": -QUARTER, "le135": -QUARTER / 2}
"""The smallest angle of the conventions whose w is the longer side; the largest is less than half a turn above."""


class RotatedBoxes(BoxForm):
    """x y w h angle; the gate holds for each coordinate of the four corners, whichever of them comes first."""

    columns: ClassVar[tuple[str, ...]] = ("x", "y", "w", "h", "angle")
    units: ClassVar[Mapping[str, str]] = {"boxes": "px"}

    def iou(self, first: Array, second: Array) -> Floats:
        """See BoxForm."""
        return rotated_iou(first, second)

    def compared(self, first: Array, second: Array) -> Mapping[str, Compared]:
        """The corners, those of the second in the one of their four orders that is nearest to the first's."""
        ours, theirs = rotated_corners(first), rotated_corners(second)
        orders = np.stack([np.roll(theirs, turn, axis=-2) for turn in range(CORNERS)])
        nearest = np.abs(orders - ours).max(axis=(2, 3)).argmin(axis=0)
        chosen = orders[nearest, np.arange(len(ours))]
        return {"boxes": Compared(ours.reshape(-1, 2 * CORNERS), chosen.reshape(-1, 2 * CORNERS))}

    def rows(self, boxes: Array) -> Array:
        """The corners: an angle that no convention has changed does not jump."""
        return rotated_corners(boxes).reshape(*boxes.shape[:-1], 2 * CORNERS)

    def text(self, box: Array, digits: int) -> str:
        """The angle in degrees."""
        return f"{super().text(box[:4], digits)}, {np.degrees(box[4]):.{digits}f} degrees"


ROTATED = RotatedBoxes()


def in_convention(boxes: NDArray[Any], convention: str) -> NDArray[np.float32]:
    """The same rectangles [n, 5], of any angle, as float32 with sides and angle as a convention has them.

    Boxes that have them already stay as they are. Source: mmrotate's definitions of the angle; an end of a range is the
    float32 that is nearest to it.
    """
    sides, angle = np.asarray(boxes[:, 2:4], np.float64), np.asarray(boxes[:, 4], np.float64)
    if convention == "oc":
        turns = np.floor(angle / QUARTER)
        swapped = turns % 2 == 1
        turned = (angle - turns * QUARTER).astype(np.float32)
        at_zero = turned <= 0  # the same as a quarter of a turn before
        swapped, turned = swapped ^ at_zero, np.where(at_zero, np.float32(QUARTER), turned)
    else:
        lowest = LOWEST[convention]
        swapped = sides[:, 1] > sides[:, 0]
        angle = angle + np.where(swapped, QUARTER, 0.0)
        turned = (angle - HALF * np.floor((angle - lowest) / HALF)).astype(np.float32)
        turned = np.where(turned >= np.float32(lowest + HALF), np.float32(lowest), turned)
    sides = np.where(swapped[:, None], sides[:, ::-1], sides)
    brought = np.concatenate((boxes[:, :2], sides, turned[:, None]), axis=1).astype(np.float32)
    return np.where(is_in_convention(boxes, convention)[:, None], np.asarray(boxes, np.float32), brought)


def is_in_convention(boxes: NDArray[Any], convention: str) -> NDArray[np.bool_]:
    """Whether the numbers of each box [n, 5] are those of the convention: bool [n]."""
    width, height, angle = np.asarray(boxes, np.float32)[:, 2:].T
    inside: NDArray[np.bool_]
    if convention == "oc":
        inside = (angle > 0) & (angle <= np.float32(QUARTER))
        return inside
    lowest = LOWEST[convention]
    inside = (width >= height) & (angle >= np.float32(lowest)) & (angle < np.float32(lowest + HALF))
    return inside


def moved(boxes: NDArray[Any], scale: tuple[float, float], offset: tuple[float, float]) -> Floats:
    """Boxes [n, 5] of one image in another: first moved by `offset` (x, y), then by `scale` (x, y).

    A rectangle becomes a parallelogram where the scales differ, as they do by the rounding of a size to whole pixels.
    The box then has the lengths of its sides, and the mean of their directions.
    """
    x, y = scale
    width, height, angle = np.asarray(boxes[:, 2:], np.float64).T
    cosine, sine = np.cos(angle), np.sin(angle)
    centers = (np.asarray(boxes[:, :2], np.float64) + offset) * scale
    turned = np.arctan2((x * x + y * y) * sine * cosine, x * y * (cosine * cosine - sine * sine)) / 2
    sides = width * np.hypot(x * cosine, y * sine), height * np.hypot(x * sine, y * cosine)
    return np.concatenate((centers, np.stack((*sides, turned), axis=1)), axis=1)
