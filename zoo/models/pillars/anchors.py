"""The anchors of PointPillars, the codes of boxes relative to them, and the half turn that the codes leave open.

Source: Lang et al., PointPillars, CVPR 2019, section 2.3; Yan et al., SECOND, Sensors 2018, for the direction.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.models.pillars.grid import PillarGrid

YAWS = (0.0, math.pi / 2)  # of the anchors of each class
HALF_TURN = math.pi
FIRST_YAW = math.pi / 4  # where the half turn of direction 0 begins: no usual heading is near it


@dataclass(frozen=True)
class ClassAnchor:
    """The anchors of one class: `size` length, width, height and `z` of the centre, metres.

    An anchor learns an object of its class if their IoU from above is at least `matched`, and background if it is
    below `unmatched` for all objects.
    """

    size: Sequence[float]
    z: float
    matched: float
    unmatched: float


def anchor_boxes(grid: PillarGrid, stride: int, classes: Sequence[ClassAnchor]) -> Tensor:
    """float32 [rows / stride * columns / stride * C * 2, 7]: by row, column, class and yaw."""
    side = grid.side * stride
    x = (torch.arange(grid.columns // stride) + 0.5) * side + grid.low[0]
    y = (torch.arange(grid.rows // stride) + 0.5) * side + grid.low[1]
    boxes = torch.zeros(len(y), len(x), len(classes), len(YAWS), 7)
    boxes[..., 0], boxes[..., 1] = x[None, :, None, None], y[:, None, None, None]
    for index, one in enumerate(classes):
        boxes[:, :, index, :, 2] = one.z
        boxes[:, :, index, :, 3:6] = torch.tensor(one.size)
    boxes[..., 6] = torch.tensor(YAWS)
    return boxes.view(-1, 7)


def encoded(boxes: Tensor, anchors: Tensor) -> Tensor:
    """boxes [..., 7] relative to anchors [..., 7] -> codes [..., 7]."""
    diagonal = anchors[..., 3:5].square().sum(dim=-1, keepdim=True).sqrt()
    center = (boxes[..., :2] - anchors[..., :2]) / diagonal
    height = (boxes[..., 2:3] - anchors[..., 2:3]) / anchors[..., 5:6]
    return torch.cat(
        (center, height, (boxes[..., 3:6] / anchors[..., 3:6]).log(), boxes[..., 6:] - anchors[..., 6:]), -1
    )


def decoded(codes: Tensor, anchors: Tensor) -> Tensor:
    """The inverse of `encoded`; the yaw is right up to half turns, see `directed`."""
    diagonal = anchors[..., 3:5].square().sum(dim=-1, keepdim=True).sqrt()
    center = codes[..., :2] * diagonal + anchors[..., :2]
    height = codes[..., 2:3] * anchors[..., 5:6] + anchors[..., 2:3]
    return torch.cat((center, height, codes[..., 3:6].exp() * anchors[..., 3:6], codes[..., 6:] + anchors[..., 6:]), -1)


def directions(yaw: Tensor) -> Tensor:
    """0 for yaws in the half turn from FIRST_YAW on, else 1: int64 [...]."""
    turned = yaw - FIRST_YAW
    return ((turned - torch.floor(turned / (2 * HALF_TURN)) * (2 * HALF_TURN)) >= HALF_TURN).long()


def directed(boxes: Tensor, logits: Tensor) -> Tensor:
    """boxes [..., 7] whose yaw is right up to half turns, direction logits [..., 2] -> boxes, yaw in [-pi, pi)."""
    turned = boxes[..., 6:] - FIRST_YAW
    half_turns = torch.floor(turned / HALF_TURN)
    second = (logits[..., 1:] > logits[..., :1]).to(boxes.dtype)
    yaw = turned - half_turns * HALF_TURN + (FIRST_YAW + HALF_TURN * second)  # in [pi / 4, 9 pi / 4)
    yaw = torch.where(yaw >= HALF_TURN, yaw - 2 * HALF_TURN, yaw)
    yaw = torch.where(yaw >= HALF_TURN, yaw - 2 * HALF_TURN, yaw)
    return torch.cat((boxes[..., :6], yaw), dim=-1)


def direction_margins(boxes: Tensor, logits: Tensor) -> Tensor:
    """boxes [..., 7] as `directed` takes them -> how far the heading is from the opposite one, [...].

    The smaller of the logits' difference, and the radians from the yaw to where a half turn begins.
    """
    turned = (boxes[..., 6] - FIRST_YAW) / HALF_TURN
    to_edge = (turned - torch.round(turned)).abs() * HALF_TURN
    return torch.minimum((logits[..., 1] - logits[..., 0]).abs(), to_edge)
