"""Greedy non-maximum suppression of rotated boxes, exact: overlaps by polygon clipping in float64."""

import torch
from torch import Tensor

from zoo.geometry.rotated import rotated_iou


def rotated_nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """boxes [n, 5] x y w h angle (radians), scores [n] -> int64 [k], the boxes that are kept, best score first.

    A box is dropped if its IoU with a better one that is kept is above the threshold. Of equal scores the lower index
    comes first. torchvision.ops.nms for boxes with an angle.
    """
    order = scores.detach().argsort(descending=True, stable=True)
    ordered = boxes.detach()[order].double().cpu().numpy()
    overlap = torch.from_numpy(rotated_iou(ordered, ordered)) > iou_threshold
    keep = torch.ones(len(order), dtype=torch.bool)
    for index in range(len(order)):
        if keep[index]:
            keep[index + 1 :] &= ~overlap[index, index + 1 :]
    return order[keep.to(order.device)]


def class_rotated_nms(boxes: Tensor, scores: Tensor, labels: Tensor, iou_threshold: float) -> Tensor:
    """As rotated_nms, where only boxes of one label [n] meet: int64 [k], best score first, of equal ones by index."""
    keep = torch.zeros_like(scores, dtype=torch.bool)
    for label in set(labels.tolist()):
        members = (labels == label).nonzero()[:, 0]
        keep[members[rotated_nms(boxes[members], scores[members], iou_threshold)]] = True
    kept = keep.nonzero()[:, 0]
    return kept[scores[kept].argsort(descending=True, stable=True)]
