"""Points into pillars on the host: where the detectors' own grid puts them; those that are left out are counted."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backends.pillar_runner import PillarRunner
from backends.runner import Runner
from backends.voxeliser import cells_of, voxelised
from zoo.errors import InputError
from zoo.input_kinds.points import NUM_POINTS, POINTS
from zoo.input_kinds.points.kind import CELLS, COUNTS, VOXELS
from zoo.models.pillars.grid import PillarGrid
from zoo.pillars import Pillars
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

SIDES = (0.16, 0.32, 0.64)
LOW, HIGH = (0.0, -5.12, -2.0), (10.24, 5.12, 2.0)


def pillars(side: float = 0.64, slots: int = 500, most: int = 4096) -> Pillars:
    grid = PillarGrid.of_range((*LOW, *HIGH), side)
    return Pillars(grid.low, grid.high, side, (grid.rows, grid.columns), slots, AxisRange(1, 1, most))


def clouds(batch: int, count: int, seed: int = 0) -> NDArray[np.float32]:
    """float32 [batch, count, 4]: some outside, a third of them dense, a few not finite."""
    random = np.random.default_rng(seed)
    points = random.uniform((-1, -6, -2.5, 0), (11, 6, 2.5, 1), (batch, count, 4))
    points[:, : count // 3, :2] = points[:, :1, :2] + random.normal(0, 0.4, (batch, count // 3, 2))
    points[:, -1] = np.nan
    return points.astype(np.float32)


def at_edges(side: float) -> NDArray[np.float32]:
    """Points at, and up to three floats beside, the edges of all columns and rows and the ends of the range."""
    values = [
        [np.float32(low) + np.float32(side) * np.float32(number) for number in range(round((high - low) / side) + 1)]
        for low, high in zip(LOW[:2], HIGH[:2], strict=True)
    ]
    rows = []
    for axis, edges in enumerate(values):
        for edge in edges:
            for beside in (edge, np.float32(round(float(edge), 2))):
                value = beside
                for direction in (-np.inf, np.inf):
                    value = beside
                    for _ in range(4):
                        rows.append([value, 1.0, 0.0, 0.5] if axis == 0 else [1.0, value, 0.0, 0.5])
                        value = np.nextafter(np.float32(value), np.float32(direction))
    rows += [[1, 1, z, 0.5] for z in (-2, 2, np.nextafter(np.float32(2), np.float32(0)))]
    rows += [[1, 1, 0, bad] for bad in (np.nan, np.inf)] + [[np.nan, 1, 0, 0], [1, np.inf, 0, 0]]
    return np.array(rows, np.float32)


@pytest.mark.parametrize("side", SIDES)
def test_points_are_where_the_detectors_grid_puts_them(side: float) -> None:
    grid = PillarGrid.of_range((*LOW, *HIGH), side)
    points = np.concatenate((at_edges(side), *clouds(4, 5000)))
    column, row, inside = grid.places(torch.from_numpy(points))
    expected = torch.where(inside, row.nan_to_num().long() * grid.columns + column.nan_to_num().long(), -1)
    assert 1000 < int(inside.sum()) < len(points)
    np.testing.assert_array_equal(cells_of(points, pillars(side)), expected.numpy())


@given(st.integers(1, 3), st.integers(1, 200), st.integers(0, 9), st.integers(1, 40), st.integers(1, 60))
def test_every_point_is_in_its_pillar_or_counted(batch: int, count: int, seed: int, slots: int, most: int) -> None:
    points, form = clouds(batch, count, seed), pillars(0.64, slots, most)
    ends = np.random.default_rng(seed).integers(0, count + 1, batch)
    made = voxelised(points, ends, form)
    grid_cells = form.size[0] * form.size[1]
    assert made.voxels.shape == (batch, made.cells.shape[1], slots, 4)
    assert 1 <= made.cells.shape[1] <= most
    kept = 0
    for number, end in enumerate(ends):
        cell, used = cells_of(points[number, :end], form), made.counts[number] > 0
        assert len(set(made.cells[number])) == len(made.cells[number])
        assert (made.cells[number][~used] >= grid_cells).all()
        for place in np.flatnonzero(used):
            members = points[number, :end][cell == made.cells[number, place]][:slots]
            np.testing.assert_array_equal(made.voxels[number, place, : made.counts[number, place]], members)
            assert not made.voxels[number, place, made.counts[number, place] :].any()
        assert used.sum() == min(most, len(np.unique(cell[cell >= 0])))
        kept += int(made.counts[number].sum())
        made_inside = int((cell >= 0).sum())
        kept -= made_inside
    assert made.cut == -kept


def test_a_large_number_of_slots_cuts_nothing() -> None:
    points = clouds(2, 3000)
    assert voxelised(points, np.array([3000, 0]), pillars()).cut == 0
    assert voxelised(points, np.array([3000, 0]), pillars(slots=4)).cut > 100
    assert voxelised(points, np.array([3000, 3000]), pillars(most=9)).cells.shape == (2, 9)


def test_one_number_of_pillars_is_always_filled_up() -> None:
    form = Pillars(LOW, HIGH, 0.64, (16, 16), 8, AxisRange.fixed(40))
    made = voxelised(clouds(1, 3), np.array([3]), form)
    assert made.cells.shape == (1, 40)
    assert Pillars.from_dict(form.to_dict()) == form


@pytest.mark.parametrize(("field", "value"), [("slots", 0), ("slots", 2.5), ("side", 0.0), ("high", LOW)])
def test_values_out_of_range(field: str, value: Any) -> None:
    fields = {"low": LOW, "high": HIGH, "side": 0.64, "size": (16, 16), "slots": 8, "count": AxisRange.fixed(4)}
    with pytest.raises(InputError, match="^pillars: got "):
        Pillars(**{**fields, field: value})


class Sums(Runner):
    """voxels, counts, cells -> the sum of all points of each cloud."""

    def __init__(self) -> None:
        super().__init__((VOXELS, COUNTS, CELLS), [TensorSpec("sums", "float32", ("batch",))])
        self.released = False

    def _run(self, arrays: Mapping[str, Any]) -> Sequence[Any]:
        return [arrays["voxels"].sum(axis=(1, 2, 3))]

    def _release(self) -> None:
        self.released = True


def test_a_runner_of_points_counts_what_it_leaves_out(caplog: pytest.LogCaptureFixture) -> None:
    inner, form = Sums(), pillars(slots=4, most=4096)
    runner = PillarRunner(inner, form, (POINTS, NUM_POINTS), inner.outputs)
    points = np.nan_to_num(clouds(2, 600))
    arrays = {"points": points, "num_points": np.array([600, 600])}
    few = {"points": points[:, :1], "num_points": np.array([1, 0])}
    with caplog.at_level(logging.WARNING):
        runner.run(few)
        assert (runner.cut_points, caplog.messages) == (0, [])
        runner.run(arrays)
        once = runner.cut_points
        runner.run(arrays)
    assert once > 0
    assert runner.cut_points == 2 * once
    (message,) = caplog.messages
    assert message.startswith(
        f"{once} of 1200 points were left out: this deployment keeps 4 points of a pillar, and up"
    )
    with pytest.raises(InputError, match="points"):
        runner.run({"points": points})
    runner.close()
    assert inner.released


def test_a_run_of_points_that_is_under_way_ends_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    inner, form = Sums(), pillars(slots=4, most=4096)
    runner = PillarRunner(inner, form, (POINTS, NUM_POINTS), inner.outputs)

    def closing(*arguments: Any) -> Any:
        runner.close()
        assert not inner.released
        return voxelised(*arguments)

    monkeypatch.setattr("backends.pillar_runner.voxelised", closing)
    runner.run({"points": np.nan_to_num(clouds(2, 600)), "num_points": np.array([600, 600])})
    assert inner.released
