"""The contract of a model, a task and a level."""

from collections.abc import Mapping
from typing import Any

from torch import nn
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from zoo.contract.contract import Contract
from zoo.contract.detection import DetectionFinal
from zoo.contract.segmentation import SegmentationDecoded, SegmentationFinal, SegmentationRaw
from zoo.contract.two_stage import TwoStageDecoded, TwoStageRaw
from zoo.errors import InputError
from zoo.tasks import Task

CONTRACTS: dict[tuple[str, str], type[Contract]] = {
    ("detection", "final"): DetectionFinal,
    ("detection", "decoded"): TwoStageDecoded,
    ("detection", "raw"): TwoStageRaw,
    ("semantic-segmentation", "final"): SegmentationFinal,
    ("semantic-segmentation", "decoded"): SegmentationDecoded,
    ("semantic-segmentation", "raw"): SegmentationRaw,
}


def contract_module(model: nn.Module, task: Task, level: str, forward: Mapping[str, Any]) -> Contract:
    """The model with the outputs of `level`, in eval mode. `forward`: keyword arguments of the model's forward.

    Raises InputError where the model's family has no such contract.
    """
    if task.name == "detection" and not isinstance(model, GeneralizedRCNN):
        raise InputError(f"model {type(model).__name__}: expected a torchvision R-CNN for task {task.name}")
    return CONTRACTS[task.name, level](model, forward)
