"""The operator in eager PyTorch, by torchvision.ops.nms."""

import torch
import torchvision.ops  # noqa: F401  # registers torch.ops.torchvision
from torch import Tensor


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
