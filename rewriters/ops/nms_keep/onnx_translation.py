"""The operator as ONNX: NonMaxSuppression, whose rows of indices are scattered as `true` into a mask of `false`.

keep = ScatterND(false[B, M], NonMaxSuppression(boxes, scores[B, 1, M])[:, (0, 2)], true)
"""

import numpy as np
import onnx

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.ops.nms_keep.threshold import float32_threshold

EMPTY_BELOW = -0.5  # empty slots score -1, all others 0 or more
ALL_BOXES = int(np.iinfo(np.int64).max)


def translate(b: GraphBuilder, boxes: str, scores: str, *, iou_threshold: float) -> str:
    """-> keep bool [B, M]."""
    return scattered(b, boxes, b.Unsqueeze(scores, b.constant([1])), b.Shape(scores), iou_threshold)


def scattered(b: GraphBuilder, boxes: str, by_class: str, shape: str, iou_threshold: float) -> str:
    """boxes [B, M, 4], scores by_class [B, C, M], `shape` of the result -> keep bool [B, M], of any class.

    The operator takes two opposite corners in any order; torchvision takes x2 < x1 or y2 < y1 as a box without an
    overlap, so these become boxes without an area.
    """
    low, high = b.Split(boxes, b.constant([2, 2]), outputs=2, axis=2)
    selected = b.NonMaxSuppression(
        b.Concat(low, b.Max(low, high), axis=2),
        by_class,
        b.constant([ALL_BOXES]),
        b.constant([float32_threshold(iou_threshold)], np.float32),
        b.constant([EMPTY_BELOW], np.float32),
    )
    index = b.Gather(selected, b.constant([0, 2]), axis=1)
    count = b.Shape(selected, end=1)
    keep: str = b.ScatterND(
        b.ConstantOfShape(shape, value=_one_bool(value=False)),
        index,
        b.ConstantOfShape(count, value=_one_bool(value=True)),
    )
    return keep


def _one_bool(*, value: bool) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.array([value]))
