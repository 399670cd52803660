"""The mean of overlapping windows straight from coarse logits, as products with constant matrices.

Bilinear resizing to the window, the weights of the blend and the mean over the windows that cover a pixel are linear,
and separate into rows and columns. So a row of the result is a fixed combination of a few rows of the coarse logits,
and a column of a few columns: one MatMul for each axis, in blocks of rows where there are many. No window is ever
resized, cut or added.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rewriters.patching.constants import static_size, untraced
from zoo.models.segmentation.resize import resize

COARSE = 3  # a window is at least so many times its logits a side: measured at 4, 8 and 32, and at 1 it does not pay
BLOCK = 128  # about so many rows of the result at once: each block reads few coarse rows
FEW = 128  # so many coarse rows or fewer are one block, whose product is the result: a reshaped output is copied


class CoarseAxis(NamedTuple):
    """An axis of the image, its windows' first elements and the weights [crop] of a window's elements."""

    size: int
    crop: int
    starts: Sequence[int]
    weights: NDArray[np.float32]


def is_coarse(logits: tuple[int, int], crop: tuple[int, int]) -> bool:
    """Whether the form of this module is worth it."""
    return all(COARSE * low <= side for low, side in zip(logits, crop, strict=True))


def join_coarse(
    windows: Sequence[Sequence[Tensor]], rows: CoarseAxis, columns: CoarseAxis, *, align_corners: bool
) -> Tensor:
    """windows[row][column] [N, C, h, w], not yet resized -> mean [N, C, *size]."""
    low_height, low_width = static_size(windows[0][0])
    coarse = torch.cat([torch.cat(list(row), dim=3) for row in windows], dim=2)
    strips = _combined(coarse.transpose(2, 3), *_combination(columns, low_width, align_corners)).transpose(2, 3)
    return _combined(strips, *_combination(rows, low_height, align_corners))


def _combined(x: Tensor, index: Tensor, factors: Tensor) -> Tensor:
    """x [N, C, h, w] -> [N, C, blocks * rows, w]: `factors` [blocks, rows, k] of the rows `index` [blocks * k]."""
    blocks, rows, k = factors.shape
    read = x.index_select(2, index)
    if blocks == 1:
        return factors[0] @ read
    _, channels, _, width = x.shape
    return (factors @ read.reshape(-1, channels, blocks, k, width)).reshape(-1, channels, blocks * rows, width)


def _combination(axis: CoarseAxis, low: int, align_corners: bool) -> tuple[Tensor, Tensor]:
    """Which rows of the coarse windows, one below the other, make up each block of rows, and by what factors."""

    def compute() -> tuple[Tensor, Tensor]:
        resizing = resize(torch.eye(low)[None, None], (axis.crop, low), align_corners)[0, 0].double().numpy()
        factors = np.zeros((axis.size, len(axis.starts) * low))
        for number, start in enumerate(axis.starts):
            factors[start : start + axis.crop, number * low : (number + 1) * low] = resizing * axis.weights[:, None]
        factors /= factors.sum(axis=1, keepdims=True)
        rows = axis.size if factors.shape[1] <= FEW else _block(axis.size)
        blocks = factors.reshape(-1, rows, factors.shape[1])
        used = blocks.any(axis=1)
        index = np.argsort(~used, axis=1, kind="stable")[:, : used.sum(axis=1).max()]  # also unused ones, by factors 0
        read = np.take_along_axis(blocks, index[:, None], axis=2)
        return torch.from_numpy(index.flatten()), torch.from_numpy(read.astype(np.float32))

    return untraced(compute)


def _block(size: int) -> int:
    """The divisor of `size` that is the nearest to BLOCK by its factor."""
    return min((d for d in range(1, size + 1) if size % d == 0), key=lambda d: abs(math.log(d / BLOCK)))
