"""The operator as ONNX: RoiAlign for each level on the boxes of that level, joined by Concat and one Gather.

order  = Concat over levels l of NonZero(levels == l)
pooled = Concat over levels l of RoiAlign(feature_l, rois[levels == l])
result = Gather(pooled, inverse of order)
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import onnx
import torch
from onnxscript import opset18 as op

from rewriters.ops.operator import constant_value, onnx_tensor, unpacked


def _roi_align_attributes(output_size: Sequence[int], scale: float, sampling_ratio: int) -> dict[str, Any]:
    return {
        "coordinate_transformation_mode": "output_half_pixel",  # torchvision's aligned=False
        "mode": "avg",
        "output_height": output_size[0],
        "output_width": output_size[1],
        "sampling_ratio": max(sampling_ratio, 0),
        "spatial_scale": scale,
    }


def dynamo(
    features: Sequence[Any],
    rois: Any,
    levels: Any,
    scales: Sequence[float],
    output_size: Sequence[int],
    sampling_ratio: int,
) -> Any:
    """Translation for the dynamo exporter."""

    def constant(value: Any, dtype: Any = np.int64) -> Any:
        return op.Constant(value=onnx_tensor(value, dtype))

    image_index: Any = op.Cast(op.Gather(rois, constant(0), axis=1), to=onnx.TensorProto.INT64)
    boxes: Any = op.Gather(rois, constant([1, 2, 3, 4]), axis=1)
    order, pooled = [], []
    for level, (feature, scale) in enumerate(zip(features, scales, strict=True)):
        index = op.Squeeze(op.NonZero(op.Equal(levels, constant(level))), constant([0]))
        order.append(index)
        pooled.append(
            op.RoiAlign(
                feature,
                op.Gather(boxes, index),
                op.Gather(image_index, index),
                **_roi_align_attributes(output_size, scale, sampling_ratio),
            )
        )
    if len(features) == 1:
        return pooled[0]
    permutation = op.Concat(*order, axis=0)
    positions = op.Range(constant(0), op.Squeeze(op.Shape(levels), constant([0])), constant(1))
    inverse = op.ScatterElements(permutation, permutation, positions)
    return op.Gather(op.Concat(*pooled, axis=0), inverse)


def torchscript(
    g: Any, features: Any, rois: Any, levels: Any, scales: Any, output_size: Any, sampling_ratio: Any
) -> Any:
    """Translation for the torchscript exporter: the same operators."""

    def constant(value: Any) -> Any:
        return g.op("Constant", value_t=torch.tensor(value))

    maps = unpacked(features)
    level_scales = constant_value(scales, "fs", "scales")
    size = constant_value(output_size, "is", "output_size")
    sampling = constant_value(sampling_ratio, "i", "sampling_ratio")
    image_index = g.op("Cast", g.op("Gather", rois, constant(0), axis_i=1), to_i=onnx.TensorProto.INT64)
    boxes = g.op("Gather", rois, constant([1, 2, 3, 4]), axis_i=1)
    order, pooled = [], []
    for level, (feature, scale) in enumerate(zip(maps, level_scales, strict=True)):
        index = g.op("Squeeze", g.op("NonZero", g.op("Equal", levels, constant(level))), constant([0]))
        order.append(index)
        attributes = _roi_align_attributes(size, scale, sampling)
        suffixes = {str: "_s", int: "_i", float: "_f"}
        pooled.append(
            g.op(
                "RoiAlign",
                feature,
                g.op("Gather", boxes, index),
                g.op("Gather", image_index, index),
                **{name + suffixes[type(value)]: value for name, value in attributes.items()},
            )
        )
    result = pooled[0]
    if len(maps) > 1:
        permutation = g.op("Concat", *order, axis_i=0)
        positions = g.op("Range", constant(0), g.op("Squeeze", g.op("Shape", levels), constant([0])), constant(1))
        inverse = g.op("ScatterElements", permutation, permutation, positions)
        result = g.op("Gather", g.op("Concat", *pooled, axis_i=0), inverse)
    known = cast("Any", maps[0].type()).sizes()
    channels = None if known is None else known[1]
    # without a type, later operators lose dtype and rank
    result.setType(maps[0].type().with_sizes([None, channels, *size]))
    return result
