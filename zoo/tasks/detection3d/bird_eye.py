"""A point cloud as an image from above: forward is up, left is left; points coloured by their height."""

from dataclasses import dataclass
from typing import Any, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.geometry import bev_boxes, rotated_corners
from zoo.tasks.drawing import Color, draw_text

Array = NDArray[Any]

LONGEST = 960  # pixels of a drawing's longer side
FARTHEST = 80.0  # metres from the sensor that are drawn
EMPTY = ((0.0, 40.0), (-20.0, 20.0))  # metres in x and y, of a cloud without points
LOWEST, HIGHEST = -2.2, 1.3  # metres from the sensor, of the first and the last colour
TICK = 0.35  # of a box's length, in front of it
DASH = 6  # pixels


@dataclass(frozen=True)
class BirdEye:
    """Where things are in the drawing. `front`, `left`: metres of its upper and left edge; `scale`: pixels a metre.

    `size`: (height, width) in pixels.
    """

    front: float
    left: float
    scale: float
    size: tuple[int, int]

    @classmethod
    def of(cls, cloud: NDArray[np.float32]) -> Self:
        """That shows all of a cloud float32 [n, 4], up to FARTHEST."""
        places = _drawn(cloud)[:, :2]
        ends = zip(places.min(axis=0), places.max(axis=0), strict=True) if len(places) else EMPTY
        (back, front), (right, left) = ((float(low) - 1, float(high) + 1) for low, high in ends)
        scale = LONGEST / max(front - back, left - right)
        return cls(front, left, scale, (round((front - back) * scale), round((left - right) * scale)))

    def canvas(self, cloud: NDArray[np.float32]) -> NDArray[np.uint8]:
        """The points on black, uint8 BGR; the higher of two points at one place is seen."""
        canvas = np.zeros((*self.size, 3), np.uint8)
        cloud = _drawn(cloud)
        cloud = cloud[np.argsort(cloud[:, 2], kind="stable")]
        heights = (cloud[:, 2] - LOWEST) / (HIGHEST - LOWEST)
        shades = (np.clip(heights, 0, 1) * 255).astype(np.uint8)
        colors = cv2.applyColorMap(shades.reshape(-1, 1), cv2.COLORMAP_VIRIDIS) if len(cloud) else np.zeros((0, 1, 3))
        rows = ((self.front - cloud[:, 0]) * self.scale).astype(int).clip(0, self.size[0] - 1)
        columns = ((self.left - cloud[:, 1]) * self.scale).astype(int).clip(0, self.size[1] - 1)
        canvas[rows, columns] = np.asarray(colors).reshape(-1, 3)
        return canvas

    def in_pixels(self, boxes: Array) -> NDArray[np.float32]:
        """Boxes [n, 7] whose place, length, width and yaw are those of the drawing, y down; their heights stay."""
        boxes = np.asarray(boxes, np.float64).reshape(-1, 7)
        x, y = (self.left - boxes[:, 1]) * self.scale, (self.front - boxes[:, 0]) * self.scale
        sides = boxes[:, 3:5] * self.scale
        columns = (x, y, boxes[:, 2], sides[:, 0], sides[:, 1], boxes[:, 5], -boxes[:, 6] - np.pi / 2)
        return np.stack(columns, axis=1).astype(np.float32)


def draw_heading_box(canvas: Array, box: Array, text: str, ink: Color, *, thickness: int = 2) -> None:
    """A box [7] of `in_pixels` with a tick in front of it, and a name tag unless `text` is empty."""
    corners, tick = _outline(box)
    cv2.polylines(
        canvas, [np.rint(corners).astype(np.int32)], isClosed=True, color=ink, thickness=thickness, lineType=cv2.LINE_AA
    )
    cv2.line(canvas, _pixel(tick[0]), _pixel(tick[1]), ink, thickness, cv2.LINE_AA)
    if text:
        draw_text(canvas, text, _pixel(corners[corners[:, 1].argmin()]), ink)


def draw_dashed_box(canvas: Array, box: Array, ink: Color) -> None:
    """The same, dashed: of what is true."""
    corners, tick = _outline(box)
    for start, end in [*zip(corners, np.roll(corners, -1, axis=0), strict=True), tick]:
        steps = max(1, int(np.hypot(*(end - start)) / DASH))
        places = np.linspace(start, end, steps + 1)
        for first, second in zip(places[:-1:2], places[1::2], strict=False):
            cv2.line(canvas, _pixel(first), _pixel(second), ink, 1, cv2.LINE_AA)


def _outline(box: Array) -> tuple[NDArray[np.float64], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The corners [4, 2], and the two ends of the tick: the middle of the front, and further on."""
    heading = np.array((np.cos(box[6]), np.sin(box[6]))) * float(box[3])
    centre = np.asarray(box[:2], np.float64)
    return rotated_corners(bev_boxes(box)[0]), (centre + heading / 2, centre + heading * (0.5 + TICK))


def _drawn(cloud: NDArray[np.float32]) -> NDArray[np.float32]:
    """The finite points that are not too far away."""
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    return cloud[(np.abs(cloud[:, :2]) < FARTHEST).all(axis=1)]


def _pixel(place: Array) -> tuple[int, int]:
    x, y = np.rint(np.clip(place, -32000, 32000)).astype(int).tolist()
    return x, y
