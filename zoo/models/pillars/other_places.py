"""Where points that are at the edge of a pillar may come to by rounding."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor

from zoo.models.pillars.encoder import PillarEncoder

Result = TypeVar("Result")
Places = tuple[Tensor, Tensor, Tensor]
NEAR = 1e-4  # metres from an edge, where another backend may put a point into the neighbouring pillar


def other_places(model: Any, run: Callable[[], Result]) -> Iterator[tuple[int, str, Result]]:
    """For each cloud of `run` of the model: what comes where points near an edge are in the neighbouring pillar.

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
        count = int(sum(one.sum() for one in near))
        if not count:
            continue
        singles = [(axis, index) for axis, one in enumerate(near) for index in one.nonzero()[:, 0].tolist()]
        choices = [singles] if count == 1 else [singles, *([single] for single in singles)]
        for moved in choices:
            with _places_by(encoder, _moving(encoder, number, moved)):
                result = run()
            points = f"{len(moved)} points are" if len(moved) > 1 else "one point is"
            yield number, f"{points} within {NEAR:g} m of a pillar's edge", result


def near_edge(encoder: PillarEncoder, cloud: Tensor, axis: int) -> Tensor:
    """cloud [n, 4] -> whether a point is near an edge across x (0) or y (1), bool [n]."""
    grid = encoder.grid
    value = cloud[:, axis].double() - grid.low[axis]
    return (value - torch.round(value / grid.side) * grid.side).abs() < NEAR


def _moving(encoder: PillarEncoder, number: int, moved: list[tuple[int, int]]) -> Callable[[Tensor], Places]:
    """The places of points, of which some of the cloud `number` are on the other side of the edge."""
    calls = iter(range(number + 1))  # the encoder asks for the clouds in turn

    def places(points: Tensor) -> Places:
        column, row, inside = encoder.grid.places(points)
        if next(calls, None) != number:
            return column, row, inside
        ends = encoder.grid.columns, encoder.grid.rows
        for axis, index in moved:
            place = (column, row)[axis]
            exact = (points[index, axis].double() - encoder.grid.low[axis]) / encoder.grid.side
            place[index] = place[index] - 1 if round(float(exact)) == float(place[index]) else place[index] + 1
            inside[index] &= 0 <= place[index] < ends[axis]
        return column, row, inside

    return places


@contextmanager
def _places_by(encoder: PillarEncoder, places: Callable[[Tensor], Places]) -> Iterator[None]:
    encoder.__dict__["places"] = places
    try:
        yield
    finally:
        del encoder.__dict__["places"]
