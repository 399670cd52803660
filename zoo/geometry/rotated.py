"""Overlap of rotated rectangles, by clipping one polygon to the other in float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CORNERS = np.array([[0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]])
"""Of a box with sides of 1, counter-clockwise where y points up."""


def rotated_iou(first: NDArray[Any], second: NDArray[Any]) -> Array:
    """Intersection over union of boxes [n, 5] and [m, 5] -> float64 [n, m]; 0 where both are empty.

    A box is x y w h angle: its centre, its sides, and the angle in radians from the x axis to its side w,
    counter-clockwise where y points up (in images, where y points down, the same formula turns clockwise). Sides are
    not negative. A box that is not finite overlaps nothing.
    """
    a, b = finite_boxes(first, 5), finite_boxes(second, 5)
    common = rotated_intersection(a, b)
    union = (a[:, 2] * a[:, 3])[:, None] + (b[:, 2] * b[:, 3])[None] - common
    iou: Array = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return iou


def rotated_intersection(first: NDArray[Any], second: NDArray[Any]) -> Array:
    """The common areas float64 [n, m] of boxes [n, 5] and [m, 5], as `rotated_iou` takes them."""
    a, b = finite_boxes(first, 5), finite_boxes(second, 5)
    areas = np.zeros((len(a), len(b)))
    distance = np.hypot(a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1])
    reach = (np.hypot(a[:, 2], a[:, 3])[:, None] + np.hypot(b[:, 2], b[:, 3])[None]) / 2
    rows, columns = np.nonzero(distance < reach)
    areas[rows, columns] = _common(a[rows], b[columns])
    return areas


def rotated_corners(boxes: NDArray[Any]) -> Array:
    """Boxes [..., 5] -> their corners float64 [..., 4, 2], counter-clockwise where y points up, from (+w, +h)."""
    boxes = np.asarray(boxes, np.float64)
    offsets = CORNERS * boxes[..., None, 2:4]
    corners: Array = _turned(offsets, boxes[..., 4]) + boxes[..., None, :2]
    return corners


def _common(a: Array, b: Array) -> Array:
    """The common areas [p] of pairs of boxes [p, 5].

    The first is brought to the frame of the second, where that is upright and its centre is the origin: nothing is lost
    by large coordinates, and each clip is at one coordinate.
    """
    local = np.concatenate((_turned(a[:, None, :2] - b[:, None, :2], -b[:, 4])[:, 0], a[:, 2:4]), axis=1)
    polygon = rotated_corners(np.concatenate((local, a[:, 4:] - b[:, 4:]), axis=1))
    for axis in (0, 1):
        half = b[:, 2 + axis, None] / 2
        polygon = _clipped(polygon, half - polygon[..., axis])
        polygon = _clipped(polygon, half + polygon[..., axis])
    x, y = polygon[..., 0], polygon[..., 1]
    twice = (x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y).sum(axis=1)
    area: Array = np.clip(twice / 2, 0.0, np.minimum(a[:, 2] * a[:, 3], b[:, 2] * b[:, 3]))
    return area


def _clipped(polygon: Array, inside: Array) -> Array:
    """Convex polygons [p, v, 2] without the part where `inside` [p, v], a vertex's signed distance, is negative.

    Sutherland-Hodgman for all polygons at once. Each edge gives its first end if that is inside, then the point where
    it crosses. Slots that are left over repeat the first vertex, or the origin if nothing is left: neither adds area.
    """
    pairs, slots = inside.shape
    ends, beyond = np.roll(polygon, -1, axis=1), np.roll(inside, -1, axis=1)
    crosses = (inside >= 0) != (beyond >= 0)
    share = np.divide(inside, inside - beyond, out=np.zeros_like(inside), where=crosses)
    vertices = np.stack((polygon, polygon + share[..., None] * (ends - polygon)), axis=2).reshape(pairs, 2 * slots, 2)
    used = np.stack((inside >= 0, crosses), axis=2).reshape(pairs, 2 * slots)
    width = int(used.sum(axis=1).max(initial=1))
    order = np.argsort(~used, axis=1, kind="stable")[:, :width]
    kept, filled = np.take_along_axis(vertices, order[..., None], axis=1), np.take_along_axis(used, order, axis=1)
    first = np.where(filled[:, :1, None], kept[:, :1], 0.0)
    return np.where(filled[..., None], kept, first)


def _turned(points: Array, angle: Array) -> Array:
    """Points [..., k, 2] turned counter-clockwise by angles [...]."""
    cosine, sine = np.cos(angle)[..., None], np.sin(angle)[..., None]
    x, y = points[..., 0], points[..., 1]
    return np.stack((x * cosine - y * sine, x * sine + y * cosine), axis=-1)


def finite_boxes(boxes: NDArray[Any], columns: int) -> Array:
    """Boxes as float64 [n, columns]; one that is not finite becomes an empty box, which overlaps nothing."""
    boxes = np.asarray(boxes, np.float64).reshape(-1, columns)
    return np.where(np.isfinite(boxes).all(axis=1, keepdims=True), boxes, 0.0)
