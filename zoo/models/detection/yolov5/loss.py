"""What YOLOv5 is trained with: anchors of like shape in the cells around an object's centre learn that object.

Source: the YOLOv5 architecture page (matching, balance of the levels); Zheng et al., Distance-IoU Loss, AAAI 2020
(CIoU), by torchvision.ops.complete_box_iou_loss.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.ops import complete_box_iou_loss

MAX_RATIO = 4.0  # of an object's side to its anchor's, or the other way round
BALANCE = (4.0, 1.0, 0.4)  # of p3, p4, p5 in the loss of objectness: small objects are rare among many cells
BOX_GAIN, CLASS_GAIN = 0.05, 0.5
COCO_CLASSES = 80  # what the gains were chosen for
MIN_SIDE = 1e-3  # cells: CIoU takes the ratio of a box's sides, and a sigmoid may underflow to 0


class Matched(NamedTuple):
    """Anchors of one level that learn an object, all of length n: indices int64, boxes [n, 4] x y w h in cells."""

    image: Tensor
    anchor: Tensor
    row: Tensor
    column: Tensor
    box: Tensor
    label: Tensor


def yolov5_losses(
    logits: Sequence[Tensor], anchors: Tensor, strides: Sequence[int], targets: Sequence[Mapping[str, Tensor]]
) -> dict[str, Tensor]:
    """Logits [N, A, h, w, 5 + C] of each level, anchors [levels, A, 2] in cells, N x {"boxes" [n, 4] in pixels,
    "labels" [n]} -> {"loss_box", "loss_objectness", "loss_class"}, scalars.
    """
    image = torch.cat([torch.full_like(target["labels"], index) for index, target in enumerate(targets)])
    corners = torch.cat([target["boxes"] for target in targets])
    labels = torch.cat([target["labels"] for target in targets])
    boxes = torch.cat(((corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]), dim=1)
    total = dict.fromkeys(("loss_box", "loss_objectness", "loss_class"), logits[0].new_zeros(()))
    for level, level_anchors, stride, balance in zip(logits, anchors, strides, BALANCE, strict=True):
        matched = _match(boxes / stride, image, labels, level_anchors, (level.shape[2], level.shape[3]))
        wanted = torch.zeros_like(level[..., 4])
        if len(matched.image):
            predicted = level[matched.image, matched.anchor, matched.row, matched.column]
            loss = complete_box_iou_loss(_corners(_decoded(predicted, level_anchors, matched)), _corners(matched.box))
            overlap = (1 - loss).detach().clamp(min=0).to(wanted.dtype)
            place = _place(matched, wanted.shape)
            wanted = wanted.flatten().scatter_reduce(0, place, overlap, "amax").reshape(wanted.shape)
            total["loss_box"] = total["loss_box"] + BOX_GAIN * loss.mean()
            classes = F.one_hot(matched.label, predicted.shape[1] - 5).to(predicted.dtype)
            gain = CLASS_GAIN * classes.shape[1] / COCO_CLASSES
            total["loss_class"] = total["loss_class"] + gain * F.binary_cross_entropy_with_logits(
                predicted[:, 5:], classes
            )
        objectness = F.binary_cross_entropy_with_logits(level[..., 4], wanted)
        total["loss_objectness"] = total["loss_objectness"] + balance * objectness
    return {name: loss * len(targets) for name, loss in total.items()}


def _match(boxes: Tensor, image: Tensor, labels: Tensor, anchors: Tensor, size: tuple[int, int]) -> Matched:
    """boxes [n, 4] x y w h in cells of a level of `size` (h, w) -> the anchors that learn them.

    Every anchor whose sides differ from the object's by less than MAX_RATIO, in the cell of the centre and in the two
    neighbours that are nearest to it.
    """
    ratio = boxes[:, None, 2:] / anchors
    alike = torch.maximum(ratio, 1 / ratio).amax(dim=2) < MAX_RATIO
    index, anchor = alike.nonzero(as_tuple=True)
    center = boxes[index, :2]
    limit = torch.tensor((size[1], size[0]), device=boxes.device)
    cell = torch.minimum(center.long(), limit - 1)
    inside = center - cell
    step = torch.where(inside < 0.5, -1, 1)  # noqa: PLR2004 - the middle of a cell
    across = torch.stack((step[:, 0], torch.zeros_like(step[:, 0])), dim=1)
    down = torch.stack((torch.zeros_like(step[:, 0]), step[:, 1]), dim=1)
    cells = torch.cat((cell, cell + across, cell + down))
    index, anchor = index.repeat(3), anchor.repeat(3)
    kept = ((cells >= 0) & (cells < limit)).all(dim=1)
    index, anchor, cells = index[kept], anchor[kept], cells[kept]
    return Matched(image[index], anchor, cells[:, 1], cells[:, 0], boxes[index], labels[index])


def _place(matched: Matched, shape: torch.Size) -> Tensor:
    """Of each match in a flat array of `shape` [N, A, h, w]."""
    _, anchors, rows, columns = shape
    return ((matched.image * anchors + matched.anchor) * rows + matched.row) * columns + matched.column


def _decoded(predicted: Tensor, anchors: Tensor, matched: Matched) -> Tensor:
    """Logits [n, 5 + C] -> boxes [n, 4], x y w h in cells."""
    cell = torch.stack((matched.column, matched.row), dim=1)
    values = predicted[:, :4].sigmoid()
    center = values[:, :2] * 2 - 0.5 + cell
    sides = ((values[:, 2:] * 2) ** 2 * anchors[matched.anchor]).clamp(min=MIN_SIDE)
    return torch.cat((center, sides), dim=1)


def _corners(boxes: Tensor) -> Tensor:
    """x y w h -> x1 y1 x2 y2."""
    return torch.cat((boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2), dim=1)
