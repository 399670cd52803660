"""Scenes of the digits, turned: an image with the smallest rectangles around its strokes, at any angle."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.datasets.digits.training import PAD_VALUE
from zoo.datasets.smallest_boxes import smallest_boxes
from zoo.geometry.rotated_boxes import in_convention

MAX_TURN = math.radians(60)  # a 6 turned by a quarter to one side is a 9 turned by a quarter to the other


def boxes_of_masks(masks: Iterable[NDArray[Any]]) -> NDArray[np.float32]:
    """Masks [H, W], not empty -> float32 [n, 5]: the `smallest_boxes` around the pixels' edges."""
    return smallest_boxes(map(_outline, masks))


def _outline(mask: NDArray[Any]) -> NDArray[Any]:
    y, x = np.nonzero(mask)
    places = np.stack((x, y), axis=1)
    edges = np.concatenate([places + step for step in ((0, 0), (1, 0), (1, 1), (0, 1))])
    return cv2.convexHull(edges.astype(np.float32))


def turned_image(image: NDArray[np.uint8], angle: float) -> NDArray[np.uint8]:
    """uint8 [H, W, 3], turned by an angle in radians about its middle, clockwise; as large as it must be, grey around
    it.
    """
    height, width = turned_size(image.shape[:2], angle)
    cosine, sine = math.cos(angle), math.sin(angle)
    matrix = np.array([[cosine, -sine], [sine, cosine]])
    middle = np.array([image.shape[1], image.shape[0]]) / 2 - 0.5  # of pixels' centres
    shift = np.array([width, height]) / 2 - 0.5 - matrix @ middle
    turned = cv2.warpAffine(
        image,
        np.c_[matrix, shift],
        (width, height),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=(PAD_VALUE,) * 3,
    )
    return np.asarray(turned, np.uint8)


def turned_boxes(boxes: NDArray[np.float32], size: Sequence[int], angle: float) -> NDArray[np.float32]:
    """Boxes [n, 5] of an image of `size` (height, width), in the turned image; le90."""
    height, width = turned_size(size, angle)
    cosine, sine = math.cos(angle), math.sin(angle)
    places = boxes[:, :2].astype(np.float64) - np.array([size[1], size[0]]) / 2
    places = places @ np.array([[cosine, sine], [-sine, cosine]]) + np.array([width, height]) / 2
    return in_convention(np.concatenate((places, boxes[:, 2:4], boxes[:, 4:] + angle), axis=1), "le90")


def turned_size(size: Sequence[int], angle: float) -> tuple[int, int]:
    """(height, width) of the upright rectangle around an image of `size` (height, width) that is turned."""
    cosine, sine = abs(math.cos(angle)), abs(math.sin(angle))
    return math.ceil(size[0] * cosine + size[1] * sine), math.ceil(size[1] * cosine + size[0] * sine)
