"""The best class of each pixel of an image, from logits of its tensor: they are resized one class at a time."""

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.preprocess import Geometry

BYTE_CLASSES = 256
Array = NDArray[Any]


def label_map_of(logits: Array, geometry: Geometry, *, align_corners: bool = False) -> Array:
    """Logits float32 [C, H, W] of a tensor -> labels [h, w] of its image, uint8, above 256 classes int32.

    The padding is cut off, and the rest is resized bilinearly: between the centres of pixels, or with `align_corners`
    between those of the outermost ones. Of equal logits the lowest label. One plane of floats is in memory beside them.
    """
    height, width = geometry.shown_size
    valid = logits[:, :height, :width]
    labels = np.zeros(geometry.image_size, np.uint8 if len(logits) <= BYTE_CLASSES else np.int32)
    planes = _resized(valid, geometry.image_size, align_corners=align_corners)
    best = next(planes)
    for label, plane in enumerate(planes, 1):
        labels[plane > best] = label
        best = np.maximum(best, plane)
    return labels


def _resized(planes: Array, size: tuple[int, int], *, align_corners: bool) -> Iterator[Array]:
    """Each of [C, H, W] at `size` (h, w)."""
    if planes.shape[1:] == size:
        yield from planes
    elif align_corners:
        rows, columns = (_between(have, want) for have, want in zip(planes.shape[1:], size, strict=True))
        for plane in planes:
            yield _mixed(_mixed(plane, rows).T, columns).T
    else:
        for plane in planes:
            yield cv2.resize(np.ascontiguousarray(plane), size[::-1], interpolation=cv2.INTER_LINEAR)


def _between(have: int, want: int) -> tuple[Array, Array, NDArray[np.float32]]:
    """For each of `want` places, the two of `have` beside it, and the part of the second."""
    place = np.arange(want) * ((have - 1) / (want - 1) if want > 1 else 0.0)
    first = np.minimum(place.astype(np.intp), have - 1)
    return first, np.minimum(first + 1, have - 1), (place - first).astype(np.float32)


def _mixed(plane: Array, places: tuple[Array, Array, NDArray[np.float32]]) -> Array:
    """The rows of a plane at new places."""
    first, second, part = places
    mixed: Array = plane[first] * (1 - part)[:, np.newaxis] + plane[second] * part[:, np.newaxis]
    return mixed
