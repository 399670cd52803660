"""The losses of PointPillars: which anchors learn which objects, and what from.

Source: Lang et al., PointPillars, CVPR 2019, section 2.4; Lin et al., Focal Loss, ICCV 2017; Yan et al., SECOND,
Sensors 2018, for the sine of the difference of two yaws.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.ops import box_iou, sigmoid_focal_loss

from zoo.models.pillars.anchors import YAWS, ClassAnchor, directions, encoded

BOX_WEIGHT, CLASS_WEIGHT, DIRECTION_WEIGHT = 2.0, 1.0, 0.2
SMOOTH = 1 / 9  # where the loss of a code turns from a square into a line
ALPHA, GAMMA = 0.25, 2.0
QUARTER_TURN = torch.pi / 2


class Matches(NamedTuple):
    """Of all M anchors of one cloud."""

    learns: Tensor
    """bool [M]: the anchor learns an object."""
    counts: Tensor
    """bool [M]: its score is learned, as an object's or as background."""
    target: Tensor
    """int64 [M]: the number of its object; means nothing where it learns none."""


def anchor_losses(
    maps: Sequence[Tensor], anchors: Tensor, classes: Sequence[ClassAnchor], targets: Sequence[Mapping[str, Tensor]]
) -> dict[str, Tensor]:
    """maps class_logits [N, M, C], box_codes [N, M, 7], direction_logits [N, M, 2], anchors [M, 7] -> the losses.

    A sum over the anchors of a cloud is divided by the number of those that learn an object.
    """
    total = dict.fromkeys(("loss_class", "loss_box", "loss_direction"), maps[0].new_zeros(()))
    for class_logits, box_codes, direction_logits, target in zip(*maps, targets, strict=True):
        matches = match(anchors, classes, target["boxes"], target["labels"])
        learns, number = matches.learns, matches.learns.sum().clamp(min=1)
        wanted = torch.zeros_like(class_logits)
        wanted[learns, target["labels"][matches.target[learns]]] = 1.0
        counted = matches.counts
        focal = sigmoid_focal_loss(class_logits[counted], wanted[counted], ALPHA, GAMMA, reduction="sum")
        total["loss_class"] = total["loss_class"] + CLASS_WEIGHT * focal / number
        boxes = target["boxes"][matches.target[learns]]
        codes = _with_sine(box_codes[learns], encoded(boxes, anchors[learns]))
        box = F.smooth_l1_loss(*codes, beta=SMOOTH, reduction="sum")
        total["loss_box"] = total["loss_box"] + BOX_WEIGHT * box / number
        turned = F.cross_entropy(direction_logits[learns], directions(boxes[:, 6]), reduction="sum")
        total["loss_direction"] = total["loss_direction"] + DIRECTION_WEIGHT * turned / number
    return {name: loss / len(targets) for name, loss in total.items()}


def match(anchors: Tensor, classes: Sequence[ClassAnchor], boxes: Tensor, labels: Tensor) -> Matches:
    """anchors [M, 7] by place, class and yaw; boxes [m, 7], labels [m] of one cloud.

    An anchor's object is that of its class with which it overlaps most. The anchors that overlap most with an object
    learn it in any case.
    """
    anchor_class = torch.arange(len(anchors), device=anchors.device) // len(YAWS) % len(classes)
    learns = torch.zeros(len(anchors), dtype=torch.bool, device=anchors.device)
    counts, target = torch.ones_like(learns), torch.zeros_like(anchor_class)
    for label, one in enumerate(classes):
        members, objects = (anchor_class == label).nonzero()[:, 0], (labels == label).nonzero()[:, 0]
        if not len(objects):
            continue
        overlap = box_iou(upright(anchors[members]), upright(boxes[objects]))
        best, nearest = overlap.max(dim=1)
        most = overlap.max(dim=0).values
        forced, forced_object = ((overlap == most) & (most > 0)).nonzero(as_tuple=True)
        nearest[forced] = forced_object
        positive = best >= one.matched
        positive[forced] = True
        learns[members], target[members] = positive, objects[nearest]
        counts[members] = positive | (best < one.unmatched)
    return Matches(learns, counts, target)


def upright(boxes: Tensor) -> Tensor:
    """boxes [n, 7] seen from above, turned to the nearest axis -> x1 y1 x2 y2 [n, 4]."""
    quarter = torch.round(boxes[:, 6] / QUARTER_TURN).long() % 2 == 1
    length, width = boxes[:, 3], boxes[:, 4]
    sides = torch.stack((torch.where(quarter, width, length), torch.where(quarter, length, width)), dim=1)
    return torch.cat((boxes[:, :2] - sides / 2, boxes[:, :2] + sides / 2), dim=1)


def _with_sine(predicted: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Codes [n, 7], the last of both such that their difference is the sine of that of the yaws."""
    a, b = predicted[:, 6:], wanted[:, 6:]
    return (
        torch.cat((predicted[:, :6], a.sin() * b.cos()), dim=1),
        torch.cat((wanted[:, :6], a.cos() * b.sin()), dim=1),
    )
