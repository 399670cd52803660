"""Non-maximum suppression: boxes x1 y1 x2 y2, best score first. With `offset` 1 the last pixels belong to the boxes."""

import numpy as np
import torch
from torch import Tensor
from torchvision.ops import box_area
from torchvision.ops import nms as suppress

NAIVE, LINEAR, GAUSSIAN = range(3)  # the methods of soft NMS, by mmcv's numbers


def nms(boxes: Tensor, scores: Tensor, *, iou_threshold: float, offset: int) -> Tensor:
    """Boxes [n, 4], scores [n] -> int64 [k], those that are kept."""
    kept: Tensor = suppress(_with_last_pixels(boxes, offset), scores, single(iou_threshold))
    return kept


def softnms(
    boxes: Tensor,
    scores: Tensor,
    dets: Tensor,
    *,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: int,
    offset: int,
) -> Tensor:
    """Boxes [n, 4], scores [n] -> int64 [k]: each box in turn, best first, lowers the scores of those that it meets.

    One whose score falls below `min_score` is dropped. The first k rows of `dets` [n, 5] get the boxes and their
    lowered scores. Source: Bodla et al., Soft-NMS, ICCV 2017, https://arxiv.org/abs/1704.04503.
    """
    left = torch.arange(len(boxes))
    extended, scores = _with_last_pixels(boxes, offset), scores.clone()
    kept: list[int] = []
    while len(left):
        best = int(left[scores[left].argmax()])
        dets[len(kept)] = torch.cat((boxes[best], scores[best, None]))
        kept.append(best)
        left = left[left != best]
        overlaps = _overlaps(extended[best], extended[left])
        if method == GAUSSIAN:
            scores[left] *= torch.exp(-overlaps.square() / sigma)
        else:
            lowered = 1 - overlaps if method == LINEAR else torch.zeros_like(overlaps)
            scores[left] *= torch.where(overlaps >= single(iou_threshold), lowered, 1.0)
        left = left[scores[left] >= single(min_score)]
    return torch.tensor(kept, dtype=torch.int64)


def nms_match(dets: Tensor, *, iou_threshold: float) -> list[list[int]]:
    """Rows [n, 5] of a box and its score -> for each box that is kept, it and those that it suppresses, best first.

    Here a box is suppressed by an overlap that equals the threshold.
    """
    boxes, order = dets[:, :4], dets[:, 4].argsort(descending=True)
    groups = []
    while len(order):
        best, others = order[0], order[1:]
        suppressed = _overlaps(boxes[best], boxes[others]) >= single(iou_threshold)
        groups.append([int(best), *others[suppressed].tolist()])
        order = others[~suppressed]
    return groups


def single(value: float) -> float:
    """In the precision of mmcv's thresholds, that of a C++ float."""
    return float(np.float32(value))


def _with_last_pixels(boxes: Tensor, offset: int) -> Tensor:
    return boxes + boxes.new_tensor([0, 0, offset, offset])


def _overlaps(box: Tensor, boxes: Tensor) -> Tensor:
    """The intersection over union of box [4] with each of boxes [n, 4]."""
    sides = (torch.minimum(box[2:], boxes[:, 2:]) - torch.maximum(box[:2], boxes[:, :2])).clamp(min=0)
    shared = sides.prod(dim=1)
    union: Tensor = box_area(box[None]) + box_area(boxes) - shared
    return shared / union
