"""Cutting feature maps into patches, at sizes that only the running graph knows."""

from typing import Any, NamedTuple

import torch.nn.functional as F
from torch import Tensor


class Grid(NamedTuple):
    """The patches of a feature map: how high and wide each is, and how many rows and columns there are.

    The latter are whole numbers, or tensors of one in a trace.
    """

    patch: tuple[int, int]
    rows: Any
    columns: Any

    @property
    def size(self) -> tuple[Any, Any]:
        """(height, width) in pixels."""
        return self.rows * self.patch[0], self.columns * self.patch[1]


def grid_over(maps: Tensor, patch: tuple[int, int]) -> Grid:
    """The smallest grid that holds maps [N, C, h, w].

    Sizes stay tensors in a trace: Python's own rounding up would make the traced ones constants.
    """
    height, width = maps.shape[-2:]
    rows, columns = (height + patch[0] - 1) // patch[0], (width + patch[1] - 1) // patch[1]
    return Grid(patch, rows, columns)


def fill(maps: Tensor, grid: Grid, *, align_corners: bool) -> Tensor:
    """Maps [N, C, h, w] resized to the grid's size. Where they have it, as they are: no branch, which a trace drops."""
    return F.interpolate(maps, size=grid.size, mode="bilinear", align_corners=align_corners)


def cut(maps: Tensor, grid: Grid) -> Tensor:
    """Maps [N, C, h, w] of the grid's size -> [N, C, patch's pixels, patches]."""
    count, channels = maps.shape[:2]
    (high, wide), rows, columns = grid
    cells = maps.reshape(count, channels, rows, high, columns, wide)
    return cells.permute(0, 1, 3, 5, 2, 4).reshape(count, channels, high * wide, rows * columns)


def join(patches: Tensor, grid: Grid) -> Tensor:
    """The inverse of cut."""
    count, channels = patches.shape[:2]
    (high, wide), rows, columns = grid
    cells = patches.reshape(count, channels, high, wide, rows, columns)
    return cells.permute(0, 1, 4, 2, 5, 3).reshape(count, channels, *grid.size)
