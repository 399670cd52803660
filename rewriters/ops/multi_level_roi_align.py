"""zooport::multi_level_roi_align, RoIAlign of each box from the pyramid level that is its own.

In ONNX Runtime's operators, RoiAlign for each level on the boxes of that level, joined by Concat and one Gather:

    order  = Concat over levels l of NonZero(levels == l)
    pooled = Concat over levels l of RoiAlign(feature_l, rois[levels == l])
    result = Gather(pooled, inverse of order)

The number of boxes is taken from `order`: after zooport::used_rows there may be fewer than torch's shapes say.

In standard operators, bilinear sampling by one Gather from all levels, and two products. Along an axis, bin p of a box
has s samples, each between two cells with weights (0 outside the map):

    cells = rows [T, C] of all levels and images       T = sum over levels of N * h * w
    pooled[r, p, q] = sum over y, x of  wy[r, p, y] * wx[r, q, x] * cells[first[r] + cell_y[r, p, y] + cell_x[r, q, x]]

with y and x over the 2 * s cells of a bin. Source: torchvision's roi_align kernel. Memory: the gathered
cells, 4 * s**2 * height * width * C elements for a box, 2**24 or one box at a time; their products are half of that
and less.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchvision.ops import roi_align

from rewriters.ops.graph_builder import FLOAT, INT64, GraphBuilder
from rewriters.ops.in_chunks import in_chunks
from rewriters.ops.operator import Operator, register
from zoo.dialect import RUNTIME, STANDARD
from zoo.errors import ExportError
from zoo.target import DEFAULT_BACKEND


@torch.library.custom_op("zooport::multi_level_roi_align", mutates_args=())
def multi_level_roi_align(
    features: Sequence[Tensor],
    rois: Tensor,
    levels: Tensor,
    scales: Sequence[float],
    output_size: Sequence[int],
    sampling_ratio: int,
    aligned: bool = False,
) -> Tensor:
    """features: L x float32 [N, C, h, w]; rois float32 [R, 5] (image index, x1 y1 x2 y2 in pixels); levels int64 [R],
    0..L-1; scales: pixels of a feature map for a pixel of the image -> pooled float32 [R, C, *output_size].

    `aligned`: the pixel 0 of the image lies half a cell into the feature map, and boxes may be smaller than a cell.
    Source: torchvision.ops.roi_align, as MultiScaleRoIAlign uses it (aligned=False).
    """
    height, width = output_size
    pooled = rois.new_zeros((len(rois), features[0].shape[1], height, width))
    for level, (feature, scale) in enumerate(zip(features, scales, strict=True)):
        index = (levels == level).nonzero()[:, 0]
        pooled[index] = roi_align(feature, rois[index], (height, width), scale, sampling_ratio, aligned)
    return pooled


@multi_level_roi_align.register_fake
def _(
    features: Sequence[Tensor],
    rois: Tensor,
    levels: Tensor,
    scales: Sequence[float],
    output_size: Sequence[int],
    sampling_ratio: int,
    aligned: bool = False,
) -> Tensor:
    return rois.new_empty((rois.shape[0], features[0].shape[1], output_size[0], output_size[1]))


def runtime_form(
    b: GraphBuilder,
    *tensors: str,
    scales: Sequence[float],
    output_size: Sequence[int],
    sampling_ratio: int,
    aligned: bool,
) -> str:
    """tensors: the features, rois, levels -> pooled float32 [R, C, *output_size]."""
    *features, rois, levels = tensors
    height, width = output_size
    image_index = b.Cast(b.Gather(rois, b.constant(0), axis=1), to=INT64)
    boxes = b.Gather(rois, b.constant([1, 2, 3, 4]), axis=1)
    order, pooled = [], []
    for level, (feature, scale) in enumerate(zip(features, scales, strict=True)):
        index = b.Squeeze(b.NonZero(b.Equal(levels, b.constant(level))), b.constant([0]))
        order.append(index)
        pooled.append(
            b.RoiAlign(
                feature,
                b.Gather(boxes, index),
                b.Gather(image_index, index),
                coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
                mode="avg",
                output_height=height,
                output_width=width,
                sampling_ratio=max(sampling_ratio, 0),
                spatial_scale=scale,
            )
        )
    result: str = pooled[0]
    if len(features) > 1:
        permutation = b.Concat(*order, axis=0)
        positions = b.Range(b.constant(0), b.size(permutation, 0), b.constant(1))
        inverse = b.ScatterElements(permutation, permutation, positions)
        result = b.Gather(b.Concat(*pooled, axis=0), inverse)
    return result


def standard_form(
    b: GraphBuilder,
    *tensors: str,
    scales: Sequence[float],
    output_size: Sequence[int],
    sampling_ratio: int,
    aligned: bool,
) -> str:
    """tensors: the features, rois, levels -> pooled float32 [R, C, *output_size].

    Raises ExportError for a sampling_ratio below 1.
    """
    if sampling_ratio < 1:
        raise ExportError(
            f"RoIAlign with sampling_ratio {sampling_ratio} takes more samples in larger boxes, and TensorRT needs a "
            "fixed number: expected 1 or more; give the model's RoIAlign one (torchvision's detectors use 2) or "
            f"deploy for --backend {DEFAULT_BACKEND}"
        )
    *features, rois, given_levels = tensors
    height, width = output_size
    levels = b.Min(b.Max(given_levels, b.constant(0)), b.constant(len(features) - 1))  # NaN has any number
    cells, sides, starts = _cells(b, features)
    scale = b.Gather(b.constant(scales, np.float32), levels)
    image_index, x1, y1, x2, y2 = (b.Gather(rois, b.constant(column), axis=1) for column in range(5))
    rows, columns = (b.Gather(side, levels) for side in sides)  # of the map of each box
    first = b.Mul(b.Cast(image_index, to=INT64), b.Mul(rows, columns))
    first = b.Add(b.Gather(starts, levels), first)
    cell_y, weight_y = _axis(b, b.Mul(y1, scale), b.Mul(y2, scale), rows, height, sampling_ratio, aligned=aligned)
    cell_x, weight_x = _axis(b, b.Mul(x1, scale), b.Mul(x2, scale), columns, width, sampling_ratio, aligned=aligned)
    cell_y = b.Add(b.Mul(cell_y, _upright(b, columns, 1)), _upright(b, first, 1))
    taps = 2 * sampling_ratio

    def pooled(inner: GraphBuilder, cell_y: str, cell_x: str, weight_y: str, weight_x: str) -> str:
        index = inner.Add(_upright(inner, cell_y, 1), inner.Unsqueeze(cell_x, inner.constant([1])))
        samples = inner.Gather(cells, index, axis=0)  # [r, height * taps, width * taps, C]
        by_row = inner.Reshape(samples, inner.constant([0, height, taps, -1]))
        by_row = inner.MatMul(_upright(inner, weight_y, 2, before=True), by_row)
        by_cell = inner.Reshape(by_row, inner.constant([0, 0, width, taps, -1]))
        by_cell = inner.MatMul(inner.Unsqueeze(weight_x, inner.constant([1, 3])), by_cell)
        means = inner.Reshape(by_cell, inner.constant([0, 0, 0, -1]))
        result: str = inner.Transpose(means, perm=[0, 3, 1, 2])
        return result

    per_box = b.Mul(b.size(cells, 1), b.constant(height * width * taps**2))
    return in_chunks(b, [cell_y, cell_x, weight_y, weight_x], per_box, FLOAT, pooled)


def _cells(b: GraphBuilder, features: Sequence[str]) -> tuple[str, tuple[str, str], str]:
    """-> cells [T, C]; heights and widths int64 [L]; the number of the first cell of each level, int64 [L]."""
    cells, starts, end = [], [], b.constant([0])
    shapes = [b.Shape(feature) for feature in features]
    for feature, shape in zip(features, shapes, strict=True):
        last = b.Transpose(feature, perm=[0, 2, 3, 1])
        cells.append(b.Reshape(last, b.Concat(b.constant([-1]), b.Gather(shape, b.constant([1])), axis=0)))
        starts.append(end)
        end = b.Add(end, b.Shape(cells[-1], end=1))
    heights, widths = (b.Concat(*(b.Gather(shape, b.constant([axis])) for shape in shapes), axis=0) for axis in (2, 3))
    return b.Concat(*cells, axis=0), (heights, widths), b.Concat(*starts, axis=0)


def _axis(
    b: GraphBuilder, low: str, high: str, side: str, bins: int, samples: int, *, aligned: bool
) -> tuple[str, str]:
    """low, high float32 [R], in cells; side int64 [R] of the map -> cells int64 [R, bins * samples * 2], and their
    weights float32 [R, bins, samples * 2], of which each bin's have the sum 1 inside the map.
    """
    nothing, unit = b.constant(0.0, np.float32), b.constant(1.0, np.float32)
    if aligned:
        half = b.constant(0.5, np.float32)
        low, high = b.Sub(low, half), b.Sub(high, half)
    length = b.Sub(high, low) if aligned else b.Max(b.Sub(high, low), unit)
    step = b.Div(length, b.constant(bins, np.float32))
    bin_number = b.constant(np.arange(bins)[:, None], np.float32)
    sample = b.constant(np.arange(samples) + 0.5, np.float32)
    start, step = _upright(b, low, 2), _upright(b, step, 2)
    place = b.Add(  # in the kernel's order of operations: [R, bins, samples]
        b.Add(start, b.Mul(bin_number, step)), b.Div(b.Mul(sample, step), b.constant(samples, np.float32))
    )
    end = _upright(b, b.Cast(side, to=FLOAT), 2)
    inside = b.And(b.GreaterOrEqual(place, b.constant(-1.0, np.float32)), b.LessOrEqual(place, end))
    top = b.Sub(end, unit)
    within = b.Min(b.Max(b.Where(inside, place, nothing), nothing), top)  # NaN is outside
    lower = b.Floor(within)
    fraction = b.Sub(within, lower)
    share = b.constant(1 / samples, np.float32)
    weights = [b.Where(inside, b.Mul(part, share), nothing) for part in (b.Sub(unit, fraction), fraction)]
    cells = [b.Cast(cell, to=INT64) for cell in (lower, b.Min(b.Add(lower, unit), top))]
    return (
        b.Reshape(_side_by_side(b, cells), b.constant([0, bins * samples * 2])),
        b.Reshape(_side_by_side(b, weights), b.constant([0, bins, samples * 2])),
    )


def _side_by_side(b: GraphBuilder, values: Sequence[str]) -> str:
    """2 x [R, bins, samples] -> [R, bins, samples, 2]."""
    pair: str = b.Concat(*(b.Unsqueeze(value, b.constant([3])) for value in values), axis=3)
    return pair


def _upright(b: GraphBuilder, value: str, axes: int, *, before: bool = False) -> str:
    """With so many axes of size 1 at the end; `before`: one at that place."""
    result: str = b.Unsqueeze(value, b.constant([axes] if before else list(range(-axes, 0))))
    return result


def _result_type(tensors: Sequence[Any], values: Mapping[str, Any]) -> Any:
    known = tensors[0].type().sizes()
    channels = None if known is None else known[1]
    return tensors[0].type().with_sizes([None, channels, *values["output_size"]])


register(
    Operator(
        torch.ops.zooport.multi_level_roi_align.default,
        _result_type,
        {RUNTIME: runtime_form, STANDARD: standard_form},
    )
)
