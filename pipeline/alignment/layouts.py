"""A graph's tensor in the layout of PyTorch's: exporters add and drop axes of one, flatten, and change their order."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BOX, ROI = 4, 5  # values of a box, and of one behind the index of its image
IMAGE_AXES = 4
ONES = "axes of one added or dropped"


class Layout(NamedTuple):
    """`array` in PyTorch's layout; `how` it came there, "" where nothing was done.

    `rows`: the first axis is one of rows, of which the two sides may have different numbers. `guess`: only
    the number of elements is the same, so that a large difference says that it is another tensor.
    """

    array: Array
    how: str = ""
    rows: bool = False
    guess: bool = False

    @property
    def in_place(self) -> bool:
        """Whether PyTorch's tensor becomes the graph's by a reshape."""
        return self.how in ("", ONES)


def layout(expected: Array, actual: Array) -> Layout | None:
    """`actual` as `expected` is laid out; None where no layout that is known makes one of the other.

    Where several could, the one that comes nearest to `expected`.
    """
    if (expected.dtype.kind == "f") != (actual.dtype.kind == "f"):
        return None
    if expected.shape == actual.shape:
        return Layout(actual)
    if [side for side in expected.shape if side != 1] == [side for side in actual.shape if side != 1]:
        return Layout(actual.reshape(expected.shape), ONES)
    if expected.size == actual.size:
        candidates = list(_orders(expected, actual))
        return min(candidates, key=lambda one: _distance(expected, one.array))._replace(guess=True)
    return _as_rows(expected, actual)


def _orders(expected: Array, actual: Array) -> Iterator[Layout]:
    shape = expected.shape
    if expected.ndim == IMAGE_AXES:
        batch, channels, height, width = shape
        if actual.shape[-1] == channels:
            last = actual.reshape(batch, height, width, channels)
            yield Layout(last.transpose(0, 3, 1, 2), "channels last in the graph")
        if actual.ndim == IMAGE_AXES and actual.shape == (batch, channels, width, height):
            yield Layout(actual.transpose(0, 1, 3, 2), "height and width swapped in the graph")
    if expected.ndim > 1 and actual.shape[-1] == shape[-2]:
        yield Layout(actual.reshape(*shape[:-2], shape[-1], shape[-2]).swapaxes(-1, -2), "last axes swapped")
    yield Layout(actual.reshape(shape), "reshaped")


def _as_rows(expected: Array, actual: Array) -> Layout | None:
    """Rows of another number, also behind a batch axis of one, and RoIs behind the index of their image."""
    if actual.ndim == expected.ndim + 1 and actual.shape[0] == 1:
        actual = actual[0]
    if expected.ndim != actual.ndim or not expected.ndim:
        return None
    if expected.shape[1:] == (BOX,) and actual.shape[1:] == (ROI,):
        return Layout(actual[:, 1:], "RoIs with the index of their image in the graph", rows=True)
    if expected.shape[1:] == actual.shape[1:]:
        return Layout(actual, f"{len(expected)} rows in PyTorch, {len(actual)} slots in the graph", rows=True)
    return None


def laid_back(expected: Array, like: Array) -> Array:
    """PyTorch's rows in the layout of the graph's, which `layout` has taken for rows; empty slots are the contract's:
    zeros, and label -1.

    Behind a batch axis the number of slots stays. Raises ValueError where there are more rows than slots.
    """
    batched = like.ndim == expected.ndim + 1
    slots = like.shape[1] if batched else max(len(expected), len(like))
    if len(expected) > slots:
        raise ValueError(f"{len(expected)} rows, {slots} slots")
    labels = expected.ndim == 1 and np.issubdtype(like.dtype, np.integer)
    rows = np.full((slots, *like.shape[1 + batched :]), -1 if labels else 0, like.dtype)
    if expected.ndim == 1:
        rows[: len(expected)] = expected
    else:  # RoIs have the index of their image before them
        rows[: len(expected), ..., -expected.shape[-1] :] = expected
    return rows[None] if batched else rows


def _distance(expected: Array, actual: Array) -> float:
    gap = np.abs(expected.astype(np.float64) - actual)
    return float(np.where(np.isfinite(gap), gap, 0.0).mean())
