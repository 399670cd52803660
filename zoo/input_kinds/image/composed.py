"""Images that a deploy makes of the given ones: enlarged, shrunk, shifted over themselves, side by side, empty."""

from collections.abc import Iterator, Sequence
from itertools import islice

import cv2
import numpy as np
from numpy.typing import NDArray

ENLARGED = (4, 8, 2)
SHIFTED = 6  # a side of the image over this many pixels
GREY = 114

Pixels = NDArray[np.uint8]
Named = tuple[str, Pixels]


def composed_images(images: Sequence[Named]) -> Iterator[Named]:
    """With their names. Each is of the size of the first of the images it is made of, so that whatever takes that one
    takes it, too.
    """
    for factor in ENLARGED:
        for name, pixels in islice(images, 2):
            yield f"{name} (crop x{factor})", _enlarged(pixels, factor)
    name, first = images[0]
    yield f"{name} (grey)", np.full_like(first, GREY)
    yield f"{name} (shifted over itself)", _shifted(first)
    yield f"{name} (four images)", _side_by_side([pixels for _, pixels in images[:4]])


def _enlarged(pixels: Pixels, factor: int) -> Pixels:
    """The middle of the image, so many times larger."""
    height, width = pixels.shape[:2]
    rows, columns = max(1, height // factor), max(1, width // factor)
    top, left = (height - rows) // 2, (width - columns) // 2
    crop = pixels[top : top + rows, left : left + columns]
    return np.asarray(cv2.resize(crop, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


def _shifted(pixels: Pixels) -> Pixels:
    """The mean of the image and of itself a little further: objects overlap their own copies."""
    height, width = pixels.shape[:2]
    moved = np.roll(pixels, (height // (SHIFTED * 4), width // (SHIFTED * 4)), axis=(0, 1))
    return np.asarray(cv2.addWeighted(pixels, 0.5, moved, 0.5, 0), np.uint8)


def _side_by_side(images: Sequence[Pixels]) -> Pixels:
    """Four images, or some of them again, at half their size."""
    height, width = images[0].shape[:2]
    quarters = [(0, 0), (0, 1), (1, 0), (1, 1)]
    joined = np.full_like(images[0], GREY)
    rows, columns = height // 2, width // 2
    for number, (row, column) in enumerate(quarters):
        small = cv2.resize(images[number % len(images)], (columns, rows), interpolation=cv2.INTER_AREA)
        joined[row * rows : (row + 1) * rows, column * columns : (column + 1) * columns] = small
    return joined
