"""Boxes of the points' frame as KITTI's objects, and back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zoo.geometry import wrapped_angle
from zoo.kitti.calibration import IMAGE_SIZE, Calibration
from zoo.kitti.labels import KittiObject

Array = NDArray[np.float64]

NEAREST = 0.1  # metres in front of the camera: what is behind it is seen at the edge of the image
CORNERS = np.array([[x, y, z] for z in (-0.5, 0.5) for x, y in ((0.5, 0.5), (0.5, -0.5), (-0.5, -0.5), (-0.5, 0.5))])
"""Of a box with sides of 1: the four at the bottom, then those at the top."""


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
    """The upright boxes x1 y1 x2 y2 float64 [n, 4] around boxes [n, 7], in pixels, not clipped to the image."""
    corners = calibration.in_camera(corners_3d(boxes))
    corners[..., 2] = np.maximum(corners[..., 2], NEAREST)
    pixels = calibration.in_image(corners)
    return np.concatenate((pixels.min(axis=1), pixels.max(axis=1)), axis=1)


def clipped_to_image(boxes: Array, size: tuple[int, int]) -> tuple[Array, Array]:
    """Boxes [n, 4] clipped to an image of `size` (height, width), and the part [n] of each that was outside of it."""
    limits = np.array((size[1] - 1, size[0] - 1) * 2, np.float64)
    clipped = np.clip(boxes, 0, limits)
    areas = [(each[:, 2:] - each[:, :2]).prod(axis=1) for each in (boxes, clipped)]
    return clipped, 1.0 - areas[1] / np.maximum(areas[0], np.finfo(np.float64).tiny)


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
