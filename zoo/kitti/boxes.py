"""Boxes of the points' frame as KITTI's objects, and back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zoo.geometry import wrapped_angle
from zoo.kitti.calibration import IMAGE_SIZE, Calibration
from zoo.kitti.labels import KittiObject

Array = NDArray[np.float64]

NEAREST = 0.1  # metres in front of the camera, from which it sees
CORNERS = np.array([[x, y, z] for z in (-0.5, 0.5) for x, y in ((0.5, 0.5), (0.5, -0.5), (-0.5, -0.5), (-0.5, 0.5))])
"""Of a box with sides of 1: the four at the bottom, then those at the top."""
EDGES = np.array([(i, j) for i in range(8) for j in range(i) if (CORNERS[i] != CORNERS[j]).sum() == 1])
"""The numbers of the two corners of each of the 12 edges."""


def corners_3d(boxes: NDArray[np.floating]) -> Array:
    """Boxes [n, 7] -> their corners float64 [n, 8, 3] in the same frame: the bottom, front left first, then the top."""
    boxes = np.asarray(boxes, np.float64).reshape(-1, 7)
    offsets = CORNERS * boxes[:, None, 3:6]
    cosine, sine = np.cos(boxes[:, None, 6]), np.sin(boxes[:, None, 6])
    turned = np.stack(
        (
            offsets[..., 0] * cosine - offsets[..., 1] * sine,
            offsets[..., 0] * sine + offsets[..., 1] * cosine,
            offsets[..., 2],
        ),
        axis=-1,
    )
    corners: Array = turned + boxes[:, None, :3]
    return corners


def image_boxes(boxes: NDArray[np.floating], calibration: Calibration) -> Array:
    """The upright boxes x1 y1 x2 y2 float64 [n, 4] around what the camera sees of boxes [n, 7], in pixels.

    Not clipped to the image. Zeros for a box that is behind the camera.
    """
    ends, seen = _visible_ends(calibration.projected(calibration.in_camera(corners_3d(boxes))))
    pixels = ends[..., :2] / np.where(seen, ends[..., 2:], 1.0)
    lowest, highest = np.where(seen, pixels, np.inf).min(axis=1), np.where(seen, pixels, -np.inf).max(axis=1)
    return np.where(seen.any(axis=1), np.concatenate((lowest, highest), axis=1), 0.0)


def _visible_ends(corners: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Corners [n, 8, 3] of `Calibration.projected` -> the ends [n, 20, 3] of their edges, and which count [n, 20, 1].

    Those corners count that are NEAREST or further, and the places in which an edge comes nearer.
    """
    start, stop = corners[:, EDGES[:, 0]], corners[:, EDGES[:, 1]]
    cut = (start[..., 2:] < NEAREST) != (stop[..., 2:] < NEAREST)
    way = stop - start
    places = start + way * (NEAREST - start[..., 2:]) / np.where(cut, way[..., 2:], 1.0)
    seen = np.concatenate((corners[..., 2:] >= NEAREST, cut), axis=1)
    return np.concatenate((corners, places), axis=1), seen


def clipped_to_image(boxes: Array, size: tuple[int, int]) -> tuple[Array, Array]:
    """Boxes [n, 4] clipped to an image of `size` (height, width), and the part [n] of each that was outside of it."""
    limits = np.array((size[1] - 1, size[0] - 1) * 2, np.float64)
    clipped = np.clip(boxes, 0, limits)
    areas = [(each[:, 2:] - each[:, :2]).prod(axis=1) for each in (boxes, clipped)]
    return clipped, 1.0 - areas[1] / np.maximum(areas[0], np.finfo(np.float64).tiny)


def parts_in_image(boxes: NDArray[np.floating], calibration: Calibration, size: tuple[int, int] = IMAGE_SIZE) -> Array:
    """Of boxes [n, 7] those parts x1 y1 x2 y2 float64 [n, 4] that are in an image of `size` (height, width).

    In pixels. A box of which no part is in the image has no area, see `has_area`.
    """
    return clipped_to_image(image_boxes(boxes, calibration), size)[0]


def has_area(boxes: Array) -> NDArray[np.bool_]:
    """Of boxes x1 y1 x2 y2 [n, 4], bool [n]."""
    some: NDArray[np.bool_] = np.all(boxes[:, 2:] > boxes[:, :2], axis=1)
    return some


def objects_of_boxes(
    boxes: NDArray[np.floating],
    types: Sequence[str],
    calibration: Calibration,
    *,
    occlusions: Sequence[int] | None = None,
    scores: Sequence[float] | None = None,
) -> list[KittiObject]:
    """Boxes [n, 7] of the points' frame as objects of these types, their image boxes and angles by the calibration.

    Without `occlusions` truncation and occlusion are -1, as in KITTI's result files.
    """
    boxes = np.asarray(boxes, np.float64).reshape(-1, 7)
    flat, outside = clipped_to_image(image_boxes(boxes, calibration), IMAGE_SIZE)
    bottoms = calibration.in_camera(boxes[:, :3] - np.array([0, 0, 0.5]) * boxes[:, 5:6])
    heading = (
        np.stack((np.cos(boxes[:, 6]), np.sin(boxes[:, 6]), np.zeros(len(boxes))), axis=1) @ calibration.rotation.T
    )
    turns = np.arctan2(-heading[:, 2], heading[:, 0])
    alphas = wrapped_angle(turns - np.arctan2(bottoms[:, 0], bottoms[:, 2]))
    return [
        KittiObject(
            kind,
            -1.0 if occlusions is None else float(outside[index]),
            -1 if occlusions is None else occlusions[index],
            float(alphas[index]),
            _quadruple(flat[index]),
            (float(boxes[index, 5]), float(boxes[index, 4]), float(boxes[index, 3])),
            (float(bottoms[index, 0]), float(bottoms[index, 1]), float(bottoms[index, 2])),
            float(turns[index]),
            None if scores is None else float(scores[index]),
        )
        for index, kind in enumerate(types)
    ]


def points_frame_boxes(objects: Sequence[KittiObject], calibration: Calibration) -> NDArray[np.float32]:
    """The inverse: float32 [n, 7]. A tilt of the camera, which KITTI's turn leaves out, is left out of the yaw."""
    bottoms = calibration.from_camera(np.array([entry.place for entry in objects]).reshape(-1, 3))
    sizes = np.array([entry.size[::-1] for entry in objects]).reshape(-1, 3)
    turns = np.array([entry.turn for entry in objects])
    heading = (
        np.stack((np.cos(turns), np.zeros(len(turns)), -np.sin(turns)), axis=1) @ np.linalg.inv(calibration.rotation).T
    )
    centres = bottoms + np.array([0, 0, 0.5]) * sizes[:, 2:]
    yaws = np.arctan2(heading[:, 1], heading[:, 0])
    boxes = np.concatenate((centres, sizes, yaws[:, None]), axis=1).astype(np.float32)
    boxes[:, 6] = wrapped_angle(boxes[:, 6])
    return boxes


def _quadruple(box: Array) -> tuple[float, float, float, float]:
    x1, y1, x2, y2 = box.tolist()
    return x1, y1, x2, y2
