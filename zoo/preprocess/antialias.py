"""Resizing as Pillow does it: a filter whose support grows with the factor by which the image shrinks.

OpenCV's bilinear resize looks at four pixels however far the image shrinks; the image processors of transformers,
torchvision and timm average over all that a new pixel covers. Columns are resized first, then rows, and grey levels are
clipped after each. Pillow and torchvision round them to bytes in between, each with weights of its own precision; here
they are rounded once, at the end, which is within a grey level of both.

Weights have WEIGHT_BITS bits, so that float64 holds all sums exactly, in any order: the result is the same on every
machine.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

WEIGHT_BITS = 22
ROWS = 16  # new ones at once: few enough that their old ones overlap, enough for a matrix product
VALUES = 2**15  # float64 at once: they stay in a core's cache
LARGEST = 255.0

Array = NDArray[Any]
Pixels = NDArray[np.uint8]
Weights = NDArray[np.float64]


class Filter(NamedTuple):
    """`weight` of an old pixel by its distance from a new one, 0 beyond `support`: in the larger of both pixels."""

    support: float
    weight: Callable[[Weights], Weights]


class Block(NamedTuple):
    """New rows from `start` on: the products of `matrix` [rows, old rows] with the old rows from `first` on."""

    start: int
    first: int
    matrix: Weights


def _triangle(distance: Weights) -> Weights:
    return np.maximum(1.0 - np.abs(distance), 0.0)


def _cubic(distance: Weights) -> Weights:
    """Keys' cubic convolution with a = -0.5."""
    x = np.abs(distance)
    near, far = (1.5 * x - 2.5) * x * x + 1.0, ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))  # noqa: PLR2004 - where its two pieces end


FILTERS: Mapping[str, Filter] = {"antialias": Filter(1.0, _triangle), "antialias_bicubic": Filter(2.0, _cubic)}
"""By the name of the interpolation in a config."""


def antialiased(image: Pixels, size: tuple[int, int], name: str) -> Pixels:
    """An image uint8 [h, w, 3] at `size` (H, W), by the filter of that `name`. Its rows must be contiguous."""
    height, width = size
    columns: Any = image
    if image.shape[1] != width:
        columns = _transposed(_rows(_transposed(image), width, name, np.float32))
    return _rows(columns, height, name, np.uint8) if height != image.shape[0] else _bytes(columns)


def _transposed(image: Array) -> Array:
    turned: Array = cv2.transpose(image).reshape(image.shape[1], image.shape[0], image.shape[2])
    return turned


def _bytes(values: Array) -> Pixels:
    """Grey levels, rounded; a half is rounded up."""
    return values if values.dtype == np.uint8 else np.floor(values + np.float32(0.5)).astype(np.uint8)


def _rows(image: Array, count: int, name: str, dtype: type[np.float32 | np.uint8]) -> Any:
    """The image [h, w, 3] with `count` rows, clipped to grey levels, and rounded where they are bytes."""
    old = image.reshape(image.shape[0], -1)
    new = np.empty((count, old.shape[1]), dtype)
    half = 0.5 if dtype is np.uint8 else 0.0
    for start, first, matrix in _blocks(len(old), count, name):
        rows, taken = matrix.shape
        step = max(1, VALUES // taken)
        for left in range(0, old.shape[1], step):
            sums = matrix @ old[first : first + taken, left : left + step].astype(np.float64)
            np.clip(sums, 0.0, LARGEST, out=sums)
            new[start : start + rows, left : left + step] = np.add(sums, half, out=sums)  # to bytes: rounded down
    return new.reshape(count, *image.shape[1:])


@lru_cache(maxsize=16)  # images of one size, as those of a video, share them
def _blocks(old: int, new: int, name: str) -> tuple[Block, ...]:
    """The weights of `old` rows in `new` ones, ROWS new rows at once."""
    first, weights = _weights(old, new, FILTERS[name])
    blocks = []
    for start in range(0, new, ROWS):
        rows = slice(start, min(start + ROWS, new))
        columns = first[rows, None] - first[start] + np.arange(weights.shape[1])
        matrix = np.zeros((len(columns), int(columns.max()) + 1))
        np.put_along_axis(matrix, columns, weights[rows], axis=1)
        blocks.append(Block(start, int(first[start]), matrix[:, : old - int(first[start])]))
    return tuple(blocks)


def _weights(old: int, new: int, kernel: Filter) -> tuple[NDArray[np.int64], Weights]:
    """For each new row: the first old row of its weights, [new], and the weights, [new, n].

    A new row's centre lies at (row + 0.5) * old / new. Weights of old rows that do not exist are 0.
    """
    factor = old / new
    stretch = max(factor, 1.0)
    support = kernel.support * stretch
    centre = (np.arange(new) + 0.5) * factor
    first = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    end = np.minimum((centre + support + 0.5).astype(np.int64), old)
    rows = first[:, None] + np.arange(int((end - first).max()))
    weights = kernel.weight((rows - centre[:, None] + 0.5) / stretch) * (rows < end[:, None])
    shares = weights / weights.cumsum(axis=1)[:, -1:]
    return first, np.rint(shares * 2.0**WEIGHT_BITS) * 2.0**-WEIGHT_BITS
