"""torch.nn.functional.grid_sample by gathering, where the backend or the opset cannot be trusted with GridSample.

A place lies between 2**D elements, for D = 2 or 3 axes; each is gathered and weighed with what is left of the others:

    y[n, c, p] = sum over the corners of  w[n, p] * x[n, c, index[n, p]],    w = product of (fraction or 1 - fraction)
"""

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic
from rewriters.symbolic.elementwise import like
from rewriters.symbolic.gathering import between, gathered, near
from zoo.errors import ExportError
from zoo.target import OPSETS

LINEAR, NEAREST, CUBIC = range(3)  # torch's numbers
ZEROS, BORDER, REFLECTION = range(3)
VOLUME = 5  # axes of a batch of volumes
IMAGE_AXES = 2


def grid_sampler(
    b: GraphBuilder, x: str, grid: str, *, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> str:
    """x [N, C, *sizes], grid [N, *out, D], last axis first -> [N, C, *out]. Raises ExportError for bicubic sampling."""
    if interpolation_mode == CUBIC:
        raise ExportError('grid_sample(mode="bicubic") has no gather form; use mode="bilinear" or another backend')
    if grid not in b.ranks:
        raise ExportError("grid_sample: the exporter does not know the grid's number of axes; give the grid a shape")
    axes = b.ranks[grid] - 2
    sizes = [b.Gather(b.Shape(x), b.constant([2 + axis])) for axis in range(axes)]
    places = [
        _place(b, _along(b, grid, axes - 1 - axis), size, axes, padding_mode, align_corners=align_corners)
        for axis, size in enumerate(sizes)
    ]  # [N, *out] each
    if interpolation_mode == NEAREST:
        corners = [[(b.Round(place), "")] for place in places]
    else:
        corners = [between(b, place) for place in places]
    batch_channels = b.Shape(x, start=0, end=2)
    elements = reduce(b.Mul, sizes)  # no -1 in a shape, for there may be no image
    flat = b.Transpose(b.Reshape(x, b.Concat(batch_channels, elements, axis=0), allowzero=1), perm=[0, 2, 1])
    count = reduce(b.Mul, [b.Gather(b.Shape(grid), b.constant([1 + axis])) for axis in range(axes)])
    rows = b.Concat(b.Shape(x, start=0, end=1), count, b.constant([1]), axis=0)
    parts = [gathered(b, flat, corner, sizes, rows) for corner in product(*corners)]  # [N, P, C] each
    total = parts[0] if len(parts) == 1 else b.Sum(*parts)
    out = b.Concat(batch_channels, b.Shape(grid, start=1, end=-1), axis=0)
    result: str = b.Reshape(b.Transpose(total, perm=[0, 2, 1]), out, allowzero=1)
    return result


def _along(b: GraphBuilder, grid: str, number: int) -> str:
    """The grid's places along one axis, [N, *out]."""
    places: str = b.Gather(grid, b.constant(number), axis=-1)
    return places


def _place(b: GraphBuilder, value: str, size: str, axes: int, padding: int, *, align_corners: bool) -> str:
    """-1..1 -> element of an axis; where there is none, outside of it for ZEROS alone."""
    one, half, count = like(b, 1.0, value), like(b, 0.5, value), b.CastLike(size, value)
    last = b.Sub(count, one)
    if align_corners:
        place = b.Mul(b.Mul(b.Add(value, one), half), last)
    else:
        place = b.Mul(b.Sub(b.Mul(b.Add(value, one), count), one), half)
    if padding == ZEROS:
        return near(b, place, last)
    if padding == REFLECTION:
        low = like(b, 0.0 if align_corners else -0.5, value)
        place = _reflected(b, place, low, last if align_corners else count)
    nothing = like(b, 0.0, value)
    place = b.Where(b.IsNaN(place), nothing if axes == IMAGE_AXES else last, place)  # what torch takes
    result: str = b.Min(b.Max(place, nothing), last)
    return result


def _reflected(b: GraphBuilder, place: str, low: str, span: str) -> str:
    """There and back between low and low + span; a span of 0 has one place."""
    point = b.Equal(span, like(b, 0.0, span))
    length = b.Where(point, like(b, 1.0, span), span)
    beyond = b.Abs(b.Sub(place, low))
    turn = b.Mul(length, like(b, 2.0, span))
    rest = b.Sub(beyond, b.Mul(b.Floor(b.Div(beyond, turn)), turn))  # 0 to 2 spans
    back = b.Add(b.Min(rest, b.Sub(turn, rest)), low)
    result: str = b.Where(point, like(b, 0.0, span), back)
    return result


def _is_volume(ranks: Sequence[int], **_values: Any) -> bool:
    return ranks[0] == VOLUME


BELOW_VOLUMES, FROM_VOLUMES = (OPSETS.start, 19), (20, OPSETS.stop - 1)
for _opset in (BELOW_VOLUMES, FROM_VOLUMES):
    symbolic(
        "aten::grid_sampler",
        reason="TensorRT's GridSample gave wrong boxes without an error (NVIDIA/TensorRT#4813)",
        written_for="torch 2.15",
        lacks="GridSample",
        opset=_opset,
    )(grid_sampler)
symbolic(
    "aten::grid_sampler",
    reason="GridSample takes volumes since opset 20",
    written_for="torch 2.15",
    opset=BELOW_VOLUMES,
    when=_is_volume,
)(grid_sampler)
