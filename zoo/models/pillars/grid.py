"""The ground as a grid of square pillars."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.errors import InputError

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
    def of_range(cls, point_range: Sequence[float], side: float) -> "PillarGrid":
        """`point_range`: lowest x y z, then highest."""
        low_x, low_y, low_z, high_x, high_y, high_z = (float(value) for value in point_range)
        return cls((low_x, low_y, low_z), (high_x, high_y, high_z), float(side))

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
        x, y, z, intensity = points.unbind(-1)
        column, row = torch.floor((x - self.low[0]) / self.side), torch.floor((y - self.low[1]) / self.side)
        inside = intensity.abs() < torch.inf
        for value, low, high in zip((x, y, z), self.low, self.high, strict=True):
            inside = inside & (value >= low) & (value < high)
        return column, row, inside & (column < self.columns) & (row < self.rows)

    def centers(self, column: Tensor, row: Tensor) -> Tensor:
        """Columns and rows [...] -> x y of the centres of the pillars, float32 [..., 2]."""
        x = (column + 0.5) * self.side + self.low[0]
        y = (row + 0.5) * self.side + self.low[1]
        return torch.stack((x, y), dim=-1)
