"""zooport::deformable_attention: samples of several maps at given places, weighed and added, as one operator.

    y[n, q, m] = sum over the points p of  weights[n, q, m, p] * sample(values[n, level of p, m], places[n, q, m, p])

with bilinear samples, 0 outside of the map. In ONNX Runtime's operators one GridSample for each level. In standard
operators, for backends whose GridSample cannot be trusted, one gather from all levels: a place lies between four
elements of its level, and the element (row, column) of a level of h rows and w columns is the number

    start of the level + row * w + column

Source: the models' own functions for a device without their CUDA kernel (`multi_scale_deformable_attention`).
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rewriters.ops.graph_builder import INT64, GraphBuilder
from rewriters.ops.operator import Operator, register
from rewriters.symbolic.elementwise import like
from rewriters.symbolic.gathering import between, near
from zoo.dialect import RUNTIME, STANDARD


@torch.library.custom_op("zooport::deformable_attention", mutates_args=())
def deformable_attention(
    values: Tensor, sizes: Tensor, places: Tensor, weights: Tensor, points: Sequence[int]
) -> Tensor:
    """values [N, S, M, D], S the elements of all levels; sizes int64 [L, 2], their (h, w); places [N, Q, M, P, 2],
    (x, y) with 0..1 from edge to edge; weights [N, Q, M, P]; points: how many of the P belong to each level
    -> [N, Q, M * D].
    """
    batch, _, heads, channels = values.shape
    maps = values.permute(0, 2, 3, 1).flatten(0, 1)
    grids = torch.split(2 * places.transpose(1, 2).flatten(0, 1) - 1, list(points), dim=2)
    samples, start = [], 0
    for (height, width), grid in zip(sizes.tolist(), grids, strict=True):
        level = maps[..., start : start + height * width].reshape(-1, channels, height, width)
        samples.append(F.grid_sample(level, grid, align_corners=False))
        start += height * width
    weighed = torch.cat(samples, dim=-1) * weights.transpose(1, 2).flatten(0, 1).unsqueeze(1)
    by_head = weighed.sum(dim=-1).reshape(batch, heads, channels, places.shape[1])
    return by_head.permute(0, 3, 1, 2).flatten(2)


@deformable_attention.register_fake
def _(values: Tensor, _sizes: Tensor, places: Tensor, _weights: Tensor, _points: Sequence[int]) -> Tensor:
    return values.new_empty((values.shape[0], places.shape[1], values.shape[2] * values.shape[3]))


def runtime_form(b: GraphBuilder, values: str, sizes: str, places: str, weights: str, *, points: Sequence[int]) -> str:
    """-> [N, Q, M * D], by a GridSample for each level, by default bilinear with 0 outside, at every opset."""
    elements, width = (b.Shape(values, start=axis, end=axis + 1) for axis in (1, 3))
    by_head = b.Transpose(values, perm=[0, 2, 3, 1])
    rows, queries = _rows_and_queries(b, values, places)
    maps = b.Reshape(by_head, b.Concat(rows, width, elements, axis=0), allowzero=1)
    count = b.constant([sum(points)])
    along = b.Transpose(places, perm=[0, 2, 1, 3, 4])
    along = b.Reshape(along, b.Concat(rows, queries, count, b.constant([2]), axis=0), allowzero=1)
    grid = b.Sub(b.Mul(along, like(b, 2.0, along)), like(b, 1.0, along))
    samples, start, first = [], b.constant([0]), 0
    for level, number in enumerate(points):
        size = b.Gather(sizes, b.constant(level), axis=0)  # [2]
        end = b.Add(start, b.ReduceProd(size, keepdims=1))
        part = b.Slice(maps, start, end, b.constant([2]))
        part = b.Reshape(part, b.Concat(rows, width, size, axis=0), allowzero=1)
        here = b.Slice(grid, b.constant([first]), b.constant([first + number]), b.constant([2]))
        samples.append(b.GridSample(part, here))
        start, first = end, first + number
    upright = b.Transpose(weights, perm=[0, 2, 1, 3])
    upright = b.Reshape(upright, b.Concat(rows, b.constant([1]), queries, count, axis=0), allowzero=1)
    weighed = b.Mul(b.Concat(*samples, axis=3), upright)
    total = b.ReduceSum(weighed, b.constant([3]), keepdims=0)  # [N * M, D, Q]
    return _by_query(b, b.Transpose(total, perm=[0, 2, 1]), values, queries)


def standard_form(b: GraphBuilder, values: str, sizes: str, places: str, weights: str, *, points: Sequence[int]) -> str:
    """-> [N, Q, M * D], by one gather from all levels."""
    rows, queries = _rows_and_queries(b, values, places)
    level = b.constant(np.repeat(np.arange(len(points)), points))  # of each point
    columns = [b.Gather(sizes, b.constant(axis), axis=1) for axis in (0, 1)]
    heights, widths = (b.Gather(column, level) for column in columns)
    starts = b.Gather(b.CumSum(b.Mul(*columns), b.constant(0), exclusive=1), level)
    axes = []
    for number, side in ((1, heights), (0, widths)):
        where = b.Transpose(b.Gather(places, b.constant(number), axis=4), perm=[0, 2, 1, 3])  # [N, M, Q, P]
        length = b.CastLike(side, where)
        place = b.Sub(b.Mul(where, length), like(b, 0.5, where))
        last = b.Sub(length, like(b, 1.0, where))
        axes.append((between(b, near(b, place, last)), last))
    shares = b.Transpose(weights, perm=[0, 2, 1, 3])
    numbers, parts = [], []
    for (row, down), (column, across) in product(axes[0][0], axes[1][0]):
        inside_row, row_counts = _inside(b, row, axes[0][1])
        inside_column, column_counts = _inside(b, column, axes[1][1])
        index = b.Add(b.Mul(b.Cast(inside_row, to=INT64), widths), b.Cast(inside_column, to=INT64))
        numbers.append(b.Add(index, starts))
        counts = b.CastLike(b.And(row_counts, column_counts), shares)
        parts.append(b.Mul(b.Mul(b.Mul(down, across), counts), shares))
    taps = b.constant([len(numbers) * sum(points)])
    index = b.Reshape(b.Concat(*numbers, axis=3), b.Concat(rows, b.Mul(queries, taps), b.constant([1]), axis=0))
    flat = b.Transpose(values, perm=[0, 2, 1, 3])  # [N, M, S, D]
    flat = b.Reshape(flat, b.Concat(rows, b.Shape(flat, start=2), axis=0), allowzero=1)
    width = b.Shape(values, start=3)
    found = b.GatherND(flat, index, batch_dims=1)  # [N * M, Q * taps, D]
    found = b.Reshape(found, b.Concat(rows, queries, taps, width, axis=0), allowzero=1)
    one = b.constant([1])
    share = b.Reshape(b.Concat(*parts, axis=3), b.Concat(rows, queries, one, taps, axis=0), allowzero=1)
    total = b.Squeeze(b.MatMul(share, found), b.constant([2]))  # [N * M, Q, D]
    return _by_query(b, total, values, queries)


def _inside(b: GraphBuilder, element: str, last: str) -> tuple[str, str]:
    """The element, or the nearest one that there is, and whether it is that one."""
    nearest = b.Min(b.Max(element, like(b, 0.0, element)), last)
    return nearest, b.Equal(nearest, element)


def _rows_and_queries(b: GraphBuilder, values: str, places: str) -> tuple[str, str]:
    """N * M and Q, int64 [1] each."""
    batch, heads = b.Shape(values, start=0, end=1), b.Shape(values, start=2, end=3)
    return b.Mul(batch, heads), b.Shape(places, start=1, end=2)


def _by_query(b: GraphBuilder, total: str, values: str, queries: str) -> str:
    """[N * M, Q, D] -> [N, Q, M * D]."""
    batch, heads, width = (b.Shape(values, start=axis, end=axis + 1) for axis in (0, 2, 3))
    by_head = b.Reshape(total, b.Concat(batch, heads, queries, width, axis=0), allowzero=1)
    result: str = b.Reshape(
        b.Transpose(by_head, perm=[0, 2, 1, 3]), b.Concat(batch, queries, b.Mul(heads, width), axis=0), allowzero=1
    )
    return result


def _result_type(tensors: Sequence[Any], _values: Mapping[str, Any]) -> Any:
    known = tensors[0].type().sizes()
    channels = None if known is None or None in known[2:] else known[2] * known[3]
    return tensors[0].type().with_sizes([None, None, channels])


register(
    Operator(
        torch.ops.zooport.deformable_attention.default,
        _result_type,
        {RUNTIME: runtime_form, STANDARD: standard_form},
    )
)
