"""Where points that are at the edge of a pillar may come to by rounding."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, TypeVar

import torch
from torch import Tensor

from zoo.models.pillars.encoder import PillarEncoder

Result = TypeVar("Result")
Places = tuple[Tensor, Tensor, Tensor]
NEAR = 1e-4  # metres from an edge, where another backend may put a point into the neighbouring pillar


def other_places(model: Any, run: Callable[[], Result]) -> Iterator[tuple[int, str, Callable[[], Result]]]:
    """For each cloud of `run` of the model: what runs it with points near an edge in the neighbouring pillar.

    First all such points of a cloud at once, then one by one. See Family.other_choices.
    """
    encoder: PillarEncoder = model.encoder
    clouds: list[Tensor] = []

    def noting(points: Tensor) -> Places:
        clouds.append(points)
        return encoder.grid.places(points)

    with _places_by(encoder, noting):
        run()
    for number, cloud in enumerate(clouds):
        near = [near_edge(encoder, cloud, axis) for axis in (0, 1)]
        singles = [(axis, index) for axis, one in enumerate(near) for index in one.nonzero()[:, 0].tolist()]
        every = [singles] if len(singles) > 1 else []
        for moved in [*every, *([single] for single in singles)]:
            points = f"{len(moved)} points are" if len(moved) > 1 else "one point is"
            yield (
                number,
                f"{points} within {NEAR:g} m of a pillar's edge",
                partial(_run_moved, encoder, run, number, moved),
            )


def near_edge(encoder: PillarEncoder, cloud: Tensor, axis: int) -> Tensor:
    """cloud [n, 4] -> whether a point of the range is near an edge across x (0) or y (1), bool [n].

    All others are outside in every backend: whether a point is in the range is compared without any rounding.
    """
    grid = encoder.grid
    value = cloud[:, axis].double() - grid.low[axis]
    return grid.in_range(cloud) & ((value - torch.round(value / grid.side) * grid.side).abs() < NEAR)


def _run_moved(encoder: PillarEncoder, run: Callable[[], Result], number: int, moved: list[tuple[int, int]]) -> Result:
    with _places_by(encoder, _moving(encoder, number, moved)):
        return run()


def _moving(encoder: PillarEncoder, number: int, moved: list[tuple[int, int]]) -> Callable[[Tensor], Places]:
    """The places of points, of which some of the cloud `number` are on the other side of the edge."""
    grid, calls = encoder.grid, count()  # the encoder asks for the clouds in turn

    def places(points: Tensor) -> Places:
        column, row, inside = grid.places(points)
        if next(calls) != number:
            return column, row, inside
        for axis, index in moved:
            place = (column, row)[axis]
            exact = (points[index, axis].double() - grid.low[axis]) / grid.side
            place[index] = place[index] - 1 if round(float(exact)) == float(place[index]) else place[index] + 1
        inside = (column >= 0) & (column < grid.columns) & (row >= 0) & (row < grid.rows)
        return column, row, grid.in_range(points) & inside

    return places


@contextmanager
def _places_by(encoder: PillarEncoder, places: Callable[[Tensor], Places]) -> Iterator[None]:
    encoder.__dict__["places"] = places
    try:
        yield
    finally:
        del encoder.__dict__["places"]
