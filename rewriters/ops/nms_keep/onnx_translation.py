"""The operator as ONNX: NonMaxSuppression, whose rows of indices are scattered as `true` into a mask of `false`.

keep = ScatterND(false[B, M], NonMaxSuppression(boxes, scores[B, 1, M])[:, (0, 2)], true)
"""

from typing import Any

import numpy as np
import torch
from onnxscript import opset18 as op

from rewriters.ops.operator import constant_value, onnx_tensor

EMPTY_BELOW = -0.5  # empty slots score -1, all others 0 or more
ALL_BOXES = int(np.iinfo(np.int64).max)


def dynamo(boxes: Any, scores: Any, iou_threshold: float) -> Any:
    """Translation for the dynamo exporter."""

    def constant(value: Any, dtype: Any) -> Any:
        return op.Constant(value=onnx_tensor(value, dtype))

    selected: Any = op.NonMaxSuppression(
        boxes,
        op.Unsqueeze(scores, constant([1], np.int64)),
        constant([ALL_BOXES], np.int64),
        constant([iou_threshold], np.float32),
        constant([EMPTY_BELOW], np.float32),
    )
    index: Any = op.Gather(selected, constant([0, 2], np.int64), axis=1)
    nothing: Any = op.ConstantOfShape(op.Shape(scores), value=onnx_tensor([False], np.bool_))
    count: Any = op.Gather(op.Shape(selected), constant([0], np.int64))
    return op.ScatterND(nothing, index, op.ConstantOfShape(count, value=onnx_tensor([True], np.bool_)))


def torchscript(g: Any, boxes: Any, scores: Any, iou_threshold: Any) -> Any:
    """Translation for the torchscript exporter: the same operators."""

    def constant(value: torch.Tensor) -> Any:
        return g.op("Constant", value_t=value)

    threshold = constant_value(iou_threshold, "f", "iou_threshold")
    selected = g.op(
        "NonMaxSuppression",
        boxes,
        g.op("Unsqueeze", scores, constant(torch.tensor([1]))),
        constant(torch.tensor([ALL_BOXES])),
        constant(torch.tensor([threshold], dtype=torch.float32)),
        constant(torch.tensor([EMPTY_BELOW], dtype=torch.float32)),
    )
    index = g.op("Gather", selected, constant(torch.tensor([0, 2])), axis_i=1)
    nothing = g.op("ConstantOfShape", g.op("Shape", scores), value_t=torch.tensor([False]))
    count = g.op("Gather", g.op("Shape", selected), constant(torch.tensor([0])))
    updates = g.op("ConstantOfShape", count, value_t=torch.tensor([True]))
    keep = g.op("ScatterND", nothing, index, updates)
    keep.setType(scores.type().with_dtype(torch.bool))  # without it later operators lose dtype and rank
    return keep
