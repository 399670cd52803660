"""The ground as a grid of square pillars."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.errors import InputError
from zoo.models.pillars.arguments import check_grid

NEAR = 1e-3  # of a pillar: how far a range may be from so many pillars


@dataclass(frozen=True)
class PillarGrid:
    """`low` and `high`: x y z in metres, the upper ends excluded; `side`: of a pillar, metres.

    Raises InputError for a range that the side does not divide.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    side: float

    @classmethod
    def of_range(cls, point_range: Sequence[float], side: float, strides: Sequence[int] = ()) -> "PillarGrid":
        """`point_range`: lowest x y z, then highest. `strides`: of the network behind the grid.

        Raises InputError for numbers that are no range, side or strides, and where the product of the strides does not
        divide the rows and columns: the maps would not fit each other.
        """
        check_grid(point_range, side, strides)
        low_x, low_y, low_z, high_x, high_y, high_z = (float(value) for value in point_range)
        grid = cls((low_x, low_y, low_z), (high_x, high_y, high_z), float(side))
        stride = math.prod(strides)
        if grid.columns % stride or grid.rows % stride:
            raise InputError(
                f"point_range: {grid.columns} x {grid.rows} pillars of {grid.side:g} m (x, y) are no multiples of the "
                f"product of the strides, {stride}; give another range, pillar_size or strides"
            )
        return grid

    def __post_init__(self) -> None:
        for axis, low, high in zip("xyz", self.low, self.high, strict=True):
            count = (high - low) / self.side
            if high <= low or (axis != "z" and abs(count - round(count)) > NEAR):
                raise InputError(
                    f"point_range: {axis} from {low:g} to {high:g} is {count:g} pillars of {self.side:g} m; give a "
                    "range that the side of a pillar divides"
                )

    @property
    def columns(self) -> int:
        """Pillars along x."""
        return round((self.high[0] - self.low[0]) / self.side)

    @property
    def rows(self) -> int:
        """Pillars along y."""
        return round((self.high[1] - self.low[1]) / self.side)

    def places(self, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """points float32 [..., 4] -> column and row float32 [...], and whether the point is in the grid, bool [...].

        Where it is not, column and row mean nothing. A point that is not finite is not in the grid.
        """
        x, y, *_ = points.unbind(-1)
        column, row = torch.floor((x - self.low[0]) / self.side), torch.floor((y - self.low[1]) / self.side)
        return column, row, self.in_range(points) & (column < self.columns) & (row < self.rows)

    def in_range(self, points: Tensor) -> Tensor:
        """points float32 [..., 4] -> whether each is finite and from `low` to `high`, bool [...].

        By rounding, the column or row of a point in range may still be the one behind the last.
        """
        *place, intensity = points.unbind(-1)
        inside = intensity.abs() < torch.inf
        for value, low, high in zip(place, self.low, self.high, strict=True):
            inside = inside & (value >= low) & (value < high)
        return inside

    def centers(self, column: Tensor, row: Tensor) -> Tensor:
        """Columns and rows [...] -> x y of the centres of the pillars, float32 [..., 2]."""
        x = (column + 0.5) * self.side + self.low[0]
        y = (row + 0.5) * self.side + self.low[1]
        return torch.stack((x, y), dim=-1)
