"""zooport::class_nms_keep, which boxes survive non-maximum suppression among those of their class, as a mask.

In ONNX Runtime's operators, NonMaxSuppression, which treats each class by itself, on scores that only the box's own
class has:

    by_class[B, C, M] = Where(labels[B, 1, M] == 0..C - 1, scores[B, 1, M], -1)
    keep = ScatterND(false[B, M], NonMaxSuppression(boxes, by_class)[:, (0, 2)], true)

In standard operators, the fixed point of nms_keep, where boxes of two classes never meet.
"""

import numpy as np
import torch
import torchvision.ops  # noqa: F401  # registers torch.ops.torchvision
from torch import Tensor

from rewriters.ops import nms_keep
from rewriters.ops.graph_builder import GraphBuilder
from rewriters.ops.operator import Operator, register
from zoo.dialect import RUNTIME, STANDARD

EMPTY_SCORE = -1.0


@torch.library.custom_op("zooport::class_nms_keep", mutates_args=())
def class_nms_keep(boxes: Tensor, scores: Tensor, labels: Tensor, num_classes: int, iou_threshold: float) -> Tensor:
    """boxes float32 [B, M, 4] x1 y1 x2 y2, scores float32 [B, M], labels int64 [B, M], each in 0..num_classes - 1,
    -> keep bool [B, M].

    In each row a box is suppressed by better ones of its own class alone. A slot with a negative score is empty: it
    suppresses nothing and is never kept. torchvision.ops.batched_nms without its coordinate offsets, whose rounding
    moves boxes by 1e-7 of the largest offset: it may decide otherwise where an overlap lies that near the threshold.
    """
    suppress = torch.ops.torchvision.nms  # the operator, not the function: that one is guarded during an export
    keep = torch.zeros_like(scores, dtype=torch.bool)
    for row in range(len(boxes)):
        filled = scores[row] >= 0
        for label in set(labels[row, filled].tolist()):
            index = (filled & (labels[row] == label)).nonzero()[:, 0]
            keep[row, index[suppress(boxes[row, index], scores[row, index], iou_threshold)]] = True
    return keep


@class_nms_keep.register_fake
def _(boxes: Tensor, scores: Tensor, labels: Tensor, num_classes: int, iou_threshold: float) -> Tensor:
    return torch.empty_like(scores, dtype=torch.bool)


def runtime_form(
    b: GraphBuilder, boxes: str, scores: str, labels: str, *, num_classes: int, iou_threshold: float
) -> str:
    """-> keep bool [B, M]."""
    class_axis = b.constant([1])
    of_class = b.Equal(b.Unsqueeze(labels, class_axis), b.constant(np.arange(num_classes)[:, None]))
    by_class = b.Where(of_class, b.Unsqueeze(scores, class_axis), b.constant(EMPTY_SCORE, np.float32))
    return nms_keep.scattered(b, boxes, by_class, b.Shape(scores), iou_threshold)


def standard_form(
    b: GraphBuilder, boxes: str, scores: str, labels: str, *, num_classes: int, iou_threshold: float
) -> str:
    """-> keep bool [B, M]."""
    return nms_keep.standard_form(b, boxes, scores, labels, iou_threshold=iou_threshold)


register(
    Operator(
        torch.ops.zooport.class_nms_keep.default,
        nms_keep.mask_of_scores,
        {RUNTIME: runtime_form, STANDARD: standard_form},
    )
)
