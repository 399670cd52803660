"""The family of the models that have none of their own: their contract is the task's."""

from typing import ClassVar

from zoo.contract.any_detector import AnyDetectionFinal, AnyInstanceSegmentationFinal, AnyKeypointDetectionFinal
from zoo.contract.segmentation import SEGMENTATION
from zoo.contract.super_resolution import SuperResolutionFinal
from zoo.families.family import Contracts, Family


class Generic(Family):
    """Detectors that give torchvision's dictionaries, segmentors that give logits, restorers that give images."""

    contracts: ClassVar[Contracts] = {
        ("detection", "final"): AnyDetectionFinal,
        ("instance-segmentation", "final"): AnyInstanceSegmentationFinal,
        ("keypoint-detection", "final"): AnyKeypointDetectionFinal,
        ("super-resolution", "final"): SuperResolutionFinal,
        **SEGMENTATION,
    }
