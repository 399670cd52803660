"""Rotated detections at level final.

A detector of no family is a module whose forward takes images float32 [N, 3, H, W] and gives a dictionary for each:
"boxes" float32 [n, 5], x y w h angle, "scores" float32 [n], "labels" int64 [n]. The rest is as of upright boxes, see
zoo.tasks.detection.proof.contracts.
"""

from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn

from zoo.geometry.rotated_boxes import HALF, LOWEST, QUARTER
from zoo.tasks import Task
from zoo.tasks.detection.proof.contracts import EMPTY_LABEL, AnyDetectionFinal, DetectionFinal


class RotatedDetectionFinal(DetectionFinal):
    """-> num_dets int64 [N], boxes float32 [N, K, 5], scores float32 [N, K], labels int64 [N, K].

    Boxes x y w h in pixels of the tensor given and angle in radians, in the convention of the task's option `angle`,
    whatever angle the model gives; unused slots hold zeros, and label -1.
    """

    angle: str

    @classmethod
    def of_task(cls, model: nn.Module, forward: Mapping[str, Any], task: Task) -> Self:
        contract = cls(model, forward)
        contract.angle = task.angle  # type: ignore[attr-defined]  # of a RotatedDetection
        return contract

    def tensors(self, detections: list[dict[str, Tensor]]) -> tuple[Tensor, ...]:
        num_dets, boxes, scores, labels = super().tensors(detections)
        used = (labels != EMPTY_LABEL).unsqueeze(-1)
        return num_dets, torch.where(used, in_convention(boxes, self.angle), 0.0), scores, labels


class AnyRotatedDetectionFinal(RotatedDetectionFinal, AnyDetectionFinal):
    """As RotatedDetectionFinal, of a model of no family; of images of one size."""


def in_convention(boxes: Tensor, convention: str) -> Tensor:
    """As zoo.geometry.rotated_boxes.in_convention, of boxes [..., 5], for a graph."""
    center, width, height, angle = torch.split(boxes, [2, 1, 1, 1], dim=-1)
    if convention == "oc":
        turns = torch.floor(angle / QUARTER)
        turned = angle - turns * QUARTER
        at_zero = turned <= 0
        swapped = torch.logical_xor(turns - 2 * torch.floor(turns / 2) > 0, at_zero)
        turned = torch.where(at_zero, QUARTER, turned).clamp(max=QUARTER)
    else:
        lowest = LOWEST[convention]
        swapped = height > width
        angle = torch.where(swapped, angle + QUARTER, angle)
        turned = (angle - HALF * torch.floor((angle - lowest) / HALF)).clamp(min=lowest)
        turned = torch.where(turned >= lowest + HALF, lowest, turned)
    sides = torch.where(swapped, height, width), torch.where(swapped, width, height)
    return torch.cat((center, *sides, turned), dim=-1)
