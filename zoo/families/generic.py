"""The family of the models that have none of their own: their contract is the task's."""

from typing import ClassVar

from zoo.contract import Contract
from zoo.contract.any_detector import AnyDetectionFinal, AnyInstanceSegmentationFinal, AnyKeypointDetectionFinal
from zoo.contract.segmentation import SEGMENTATION
from zoo.contract.super_resolution import SuperResolutionFinal
from zoo.families.family import Contracts, Family
from zoo.tasks import Task
from zoo.tasks.proof import proof_of


class Generic(Family):
    """Detectors that give torchvision's dictionaries, segmentors that give logits, restorers that give images."""

    contracts: ClassVar[Contracts] = {
        ("detection", "final"): AnyDetectionFinal,
        ("instance-segmentation", "final"): AnyInstanceSegmentationFinal,
        ("keypoint-detection", "final"): AnyKeypointDetectionFinal,
        ("super-resolution", "final"): SuperResolutionFinal,
        **SEGMENTATION,
    }

    def contract_type(self, task: Task, level: str) -> type[Contract] | None:
        """That of the task itself, where it brings one."""
        return super().contract_type(task, level) or proof_of(task).contracts.get(level)
