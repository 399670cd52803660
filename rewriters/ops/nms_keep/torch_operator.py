"""The operator in eager PyTorch, by torchvision.ops.nms."""

import torch
import torchvision.ops  # noqa: F401  # registers torch.ops.torchvision
from torch import Tensor


@torch.library.custom_op("zooport::nms_keep", mutates_args=())
def nms_keep(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """boxes float32 [B, M, 4] x1 y1 x2 y2, scores float32 [B, M] -> keep bool [B, M].

    Each row is suppressed by itself, best score first. A slot with a negative score is empty: it suppresses nothing
    and is never kept. Source: torchvision.ops.nms.
    """
    suppress = torch.ops.torchvision.nms  # the operator, not the function: that one is guarded during an export
    keep = torch.zeros_like(scores, dtype=torch.bool)
    for row in range(len(boxes)):
        filled = (scores[row] >= 0).nonzero()[:, 0]
        keep[row, filled[suppress(boxes[row, filled], scores[row, filled], iou_threshold)]] = True
    return keep


@nms_keep.register_fake
def _(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    return torch.empty_like(scores, dtype=torch.bool)
