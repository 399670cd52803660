"""zooport::by_cell and zooport::pillar_canvas, a pair that brings points together in the cells of a dense grid.

    rows, cells = by_cell(points, cells);  features = network(rows);  canvas = pillar_canvas(features, cells, ..., how)

Each point has a cell; a cell without points is zero. The number of occupied cells depends on the data, that of all
cells does not, so no shape depends on the points.

In PyTorch, by_cell sorts, so that the points of a cell are neighbours. In ONNX Runtime's operators it does nothing,
and the canvas is a scatter with a reduction, with a spare cell for the points that have none:

    sums = ScatterElements(0[B, C, G + 1], cells, features, reduction = add)[:, :, :G]

    maxima = 0[B * (G + 1), C]
    do      maxima = ScatterND(maxima, cells, features, reduction = max)
    while   any(Gather(maxima, cells) < features, of the cells that count)

ScatterND takes a third of the time, but its kernel for CPUs lets threads write to one cell at the same time, and then
an update can get lost. A maximum can be taken again: what is lost is seen, and is rare. A sum cannot. Of numbers that
are none the maximum depends on their order, so the spare cell is not looked at, and the turns have a limit.

In standard operators, for TensorRT, which has no scatter with a reduction, each point's rank is the number of points
before it in the order of cells, counted in chunks. Ranks are distinct, so that a plain ScatterND sorts by them. Then
neighbours of one cell are reduced in doubling steps, 1, 2, 4 ... rows apart, and the first of each cell holds its
result. Nothing is cut, however many points a cell has.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rewriters.ops.graph_builder import BOOL, FLOAT, INT64, UINT8, GraphBuilder
from rewriters.ops.in_chunks import in_chunks
from rewriters.ops.operator import Operator, register
from zoo.dialect import RUNTIME, STANDARD

ADD, MAX = "add", "max"
REDUCING_OPSET = 18  # the first whose scatters take maxima
MOST_STEPS = 40  # 2**40 points; or scatters, where a second one is rare


@torch.library.custom_op("zooport::by_cell", mutates_args=())
def by_cell(rows: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
    """rows float32 [B, N, D], cells int64 [B, N] -> both with rows of equal cells side by side.

    In ONNX Runtime's form they stay as they are. What follows must treat each row by itself, up to a pillar_canvas.
    """
    order = cells.argsort(dim=1, stable=True)
    return rows.gather(1, order[..., None].expand_as(rows)), cells.gather(1, order)


@torch.library.custom_op("zooport::pillar_canvas", mutates_args=())
def pillar_canvas(features: Tensor, cells: Tensor, num_cells: int, how: str) -> Tensor:
    """features float32 [B, N, C], cells int64 [B, N], both as by_cell gives them -> [B, C, num_cells].

    `how` "add": the sum of a cell's features; "max": the largest of them and 0. A row whose cell is not one of
    0..num_cells - 1 counts nowhere, whatever it holds. Raises ValueError for cells that are not sorted.
    """
    if (cells.diff(dim=1) < 0).any():
        raise ValueError("pillar_canvas: the cells are not sorted; give it what by_cell gives")
    used = (cells >= 0) & (cells < num_cells)
    values = torch.where(used[..., None], features, 0.0).transpose(1, 2)
    index = torch.where(used, cells, 0)[:, None].expand_as(values)
    canvas = features.new_zeros(len(features), features.shape[2], num_cells)
    return canvas.scatter_reduce(2, index, values, {ADD: "sum", MAX: "amax"}[how])


@by_cell.register_fake
def _(rows: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(rows), torch.empty_like(cells)


@pillar_canvas.register_fake
def _(features: Tensor, cells: Tensor, num_cells: int, how: str) -> Tensor:
    return features.new_empty((features.shape[0], features.shape[2], num_cells))


def by_cell_in_runtime_form(b: GraphBuilder, rows: str, cells: str) -> tuple[str, str]:
    """-> rows and cells as they are."""
    return b.Identity(rows), b.Identity(cells)


def pillar_canvas_in_runtime_form(b: GraphBuilder, features: str, cells: str, *, num_cells: int, how: str) -> str:
    """-> [B, C, num_cells]. Rows that count nowhere go to a spare cell behind the last one."""
    used = _is_cell(b, cells, num_cells)
    index = b.Where(used, cells, b.constant(num_cells))
    if how == ADD:
        return _kept(b, _sums(b, features, index, num_cells + 1), num_cells, axis=2)
    rows = _kept(b, _maxima(b, features, index, used, num_cells + 1), num_cells, axis=1)
    canvas: str = b.Transpose(rows, perm=[0, 2, 1])
    return canvas


def _kept(b: GraphBuilder, canvas: str, num_cells: int, axis: int) -> str:
    """Without the spare cell."""
    kept: str = b.Slice(canvas, b.constant([0]), b.constant([num_cells]), b.constant([axis]))
    return kept


def _sums(b: GraphBuilder, features: str, index: str, num_cells: int) -> str:
    values = b.Transpose(features, perm=[0, 2, 1])
    everywhere = b.Expand(b.Unsqueeze(index, b.constant([1])), b.Shape(values))
    shape = b.Concat(b.Shape(values, end=2), b.constant([num_cells]), axis=0)
    zeros = b.Expand(b.constant(0.0, np.float32), shape)
    canvas: str = b.ScatterElements(zeros, everywhere, values, axis=2, reduction=ADD)
    return canvas


def _maxima(b: GraphBuilder, features: str, index: str, used: str, num_cells: int) -> str:
    """Of 0 and the features of each cell, [B, cells, C], scattered until each feature that counts has been taken."""
    channels = b.Shape(features, start=2)
    of_cloud = b.Add(index, b.Mul(_row_numbers(b, index), b.constant(num_cells)))
    place = b.Reshape(of_cloud, b.constant([-1]))
    counts = b.Reshape(used, b.constant([-1, 1]))
    rows = b.Reshape(features, b.Concat(b.constant([-1]), channels, axis=0))
    clouds = b.Shape(features, end=1)
    places = b.Concat(b.Mul(clouds, b.constant([num_cells])), channels, axis=0)
    zeros = b.Expand(b.constant(0.0, np.float32), places)

    def scattered(inner: GraphBuilder, canvas: str) -> tuple[str, str]:
        """-> the canvas, and whether something was lost."""
        after = inner.ScatterND(canvas, inner.Unsqueeze(place, inner.constant([1])), rows, reduction=MAX)
        lost = inner.And(inner.Less(inner.Gather(after, place, axis=0), rows), counts)
        return after, inner.Cast(inner.ReduceMax(inner.Cast(lost, to=UINT8), keepdims=0), to=BOOL)

    def step(inner: GraphBuilder, _turn: str, canvas: str) -> tuple[list[str], str]:
        after, lost = scattered(inner, canvas)
        return [after], lost

    canvas, lost = scattered(b, zeros)
    (canvas,) = b.loop(b.constant(MOST_STEPS), [canvas], [FLOAT], step, first=lost)
    maxima: str = b.Reshape(canvas, b.Concat(clouds, b.constant([num_cells]), channels, axis=0), allowzero=1)
    return maxima


def by_cell_in_standard_form(b: GraphBuilder, rows: str, cells: str) -> tuple[str, str]:
    """-> both sorted by cell, points of one cell in their order."""
    place = b.Concat(_numbered_clouds(b, cells), b.Unsqueeze(_ranks(b, cells), b.constant([2])), axis=2)
    sorted_rows = b.ScatterND(b.Expand(b.constant(0.0, np.float32), b.Shape(rows)), place, rows)
    return sorted_rows, b.ScatterND(b.Expand(b.constant(0), b.Shape(cells)), place, cells)


def _ranks(b: GraphBuilder, cells: str) -> str:
    """cells [B, N] -> how many points of the cloud come before each in the order of cells, int64 [B, N]."""
    count, one = b.size(cells, 1), b.constant([1])
    numbers = b.Expand(b.Range(b.constant(0), count, b.constant(1)), b.Shape(cells))
    clouds = b.Expand(_row_numbers(b, cells), b.Shape(cells))
    flat = [b.Reshape(values, b.constant([-1])) for values in (cells, numbers, clouds)]

    def of_points(inner: GraphBuilder, cell: str, number: str, cloud: str) -> str:
        others = inner.Gather(cells, cloud, axis=0)  # [R, N]
        column = inner.Unsqueeze(cell, one)  # [R, 1]
        every = inner.Unsqueeze(inner.Range(inner.constant(0), count, inner.constant(1)), inner.constant([0]))
        earlier = inner.Less(every, inner.Unsqueeze(number, one))
        before = inner.Or(inner.Less(others, column), inner.And(inner.Equal(others, column), earlier))
        total = inner.ReduceSum(inner.Cast(before, to=FLOAT), one, keepdims=0)  # exact up to 2**24 points
        rank: str = inner.Cast(total, to=INT64)
        return rank

    ranks = in_chunks(b, flat, b.Max(count, b.constant(1)), INT64, of_points)
    shaped: str = b.Reshape(ranks, b.Shape(cells), allowzero=1)
    return shaped


def pillar_canvas_in_standard_form(b: GraphBuilder, features: str, cells: str, *, num_cells: int, how: str) -> str:
    """-> [B, C, num_cells]."""
    used = _is_cell(b, cells, num_cells)
    values = _reduced(b, _where_used(b, used, features), cells, used, how)
    count = b.size(cells, 1)
    numbers = b.Range(b.constant(0), count, b.constant(1))
    before = b.Gather(cells, b.Max(b.Sub(numbers, b.constant(1)), b.constant(0)), axis=1)
    starts = b.Or(b.Not(b.Equal(cells, before)), b.Equal(numbers, b.constant(0)))
    spare = b.Add(numbers, b.constant(num_cells))  # a place of its own for each row that starts no cell
    place = b.Unsqueeze(b.Where(b.And(starts, used), cells, spare), b.constant([2]))
    places = b.Unsqueeze(b.Add(count, b.constant(num_cells)), b.constant([0]))
    shape = b.Concat(b.Shape(values, end=1), places, b.Shape(values, start=2), axis=0)
    zeros = b.Expand(b.constant(0.0, np.float32), shape)
    filled = b.ScatterND(zeros, b.Concat(_numbered_clouds(b, cells), place, axis=2), values)
    kept = b.Slice(filled, b.constant([0]), b.constant([num_cells]), b.constant([1]))
    canvas: str = b.Transpose(kept, perm=[0, 2, 1])
    return canvas


def _reduced(b: GraphBuilder, values: str, cells: str, used: str, how: str) -> str:
    """values [B, N, C], cells [B, N] sorted -> in the first row of each cell what `how` makes of all of its rows.

    After the step of distance d each row holds the result of the 2 * d rows from it on that are of its cell.
    """
    count, one, last = b.size(cells, 1), b.constant(1), b.constant([2])
    numbers, nothing = b.Range(b.constant(0), count, one), b.constant(0.0, np.float32)

    def step(inner: GraphBuilder, _turn: str, values: str, distance: str) -> tuple[list[str], str]:
        ahead = inner.Add(numbers, distance)
        other = inner.Min(ahead, inner.Sub(count, one))
        same = inner.And(inner.Equal(inner.Gather(cells, other, axis=1), cells), inner.Less(ahead, count))
        same = inner.And(same, used)
        theirs = inner.Where(inner.Unsqueeze(same, last), inner.Gather(values, other, axis=1), nothing)
        after = inner.Add(values, theirs) if how == ADD else inner.Max(values, theirs)
        met = inner.ReduceSum(inner.Cast(same, to=FLOAT), keepdims=0)
        return [after, inner.Add(distance, distance)], inner.Greater(met, nothing)

    start = values if how == ADD else b.Max(values, nothing)
    reduced, _ = b.loop(b.constant(MOST_STEPS), [start, one], [FLOAT, INT64], step)
    return reduced


def _is_cell(b: GraphBuilder, cells: str, num_cells: int) -> str:
    used: str = b.And(b.GreaterOrEqual(cells, b.constant(0)), b.Less(cells, b.constant(num_cells)))
    return used


def _where_used(b: GraphBuilder, used: str, features: str) -> str:
    values: str = b.Where(b.Unsqueeze(used, b.constant([2])), features, b.constant(0.0, np.float32))
    return values


def _row_numbers(b: GraphBuilder, cells: str) -> str:
    """0..B - 1, int64 [B, 1]."""
    numbers: str = b.Unsqueeze(b.Range(b.constant(0), b.size(cells, 0), b.constant(1)), b.constant([1]))
    return numbers


def _numbered_clouds(b: GraphBuilder, cells: str) -> str:
    """The number of its cloud for each point, int64 [B, N, 1]."""
    numbered: str = b.Unsqueeze(b.Expand(_row_numbers(b, cells), b.Shape(cells)), b.constant([2]))
    return numbered


def _canvas_type(tensors: Sequence[Any], values: Mapping[str, Any]) -> Any:
    known = tensors[0].type().sizes()
    return tensors[0].type().with_sizes([None, None if known is None else known[2], values["num_cells"]])


register(
    Operator(
        torch.ops.zooport.by_cell.default,
        None,
        {RUNTIME: by_cell_in_runtime_form, STANDARD: by_cell_in_standard_form},
    )
)
register(
    Operator(
        torch.ops.zooport.pillar_canvas.default,
        _canvas_type,
        {RUNTIME: pillar_canvas_in_runtime_form, STANDARD: pillar_canvas_in_standard_form},
        least_opset={RUNTIME: REDUCING_OPSET},
    )
)
