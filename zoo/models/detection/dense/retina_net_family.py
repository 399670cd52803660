"""The families of torchvision's RetinaNet and FCOS."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import ClassVar

from torch import nn
from torchvision.models.detection import FCOS, RetinaNet

from zoo.contract.constants import Case, Constant
from zoo.contract.coverage import Usage
from zoo.families import Contracts, DetectorFamily, register
from zoo.models.detection.dense.constants import dense_constants
from zoo.models.detection.dense.coverage import dense_coverage
from zoo.models.detection.dense.levels import DenseDecoded, DenseRaw, FCOSDecoded, FCOSRaw
from zoo.tasks.detection.proof.contracts import DetectionFinal


@register(RetinaNet)
class RetinaNetFamily(DetectorFamily):
    """A score for each anchor and class; candidates are kept level by level."""

    name: ClassVar[str] = "RetinaNet"
    contracts: ClassVar[Contracts] = {
        ("detection", "final"): DetectionFinal,
        ("detection", "decoded"): DenseDecoded,
        ("detection", "raw"): DenseRaw,
    }
    float32_parts: ClassVar[tuple[str, ...]] = ("backbone", "head")
    spread: ClassVar[Mapping[str, tuple[float, float]]] = {
        "head.classification_head.cls_logits": (-5.0, 1.5),
        "head.regression_head.bbox_reg": (0.0, 0.3),
    }

    def constants(self, model: nn.Module, case: Case) -> Iterator[Constant]:
        """Anchors, the box coder, thresholds."""
        return dense_constants(model, case)

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """Levels and thresholds."""
        return dense_coverage(model, usage)


@register(FCOS)
class FCOSFamily(RetinaNetFamily):
    """As RetinaNet, with the score of being near an object's centre. Of the boxes the ReLU comes after the head."""

    name: ClassVar[str] = "FCOS"
    contracts: ClassVar[Contracts] = {
        ("detection", "final"): DetectionFinal,
        ("detection", "decoded"): FCOSDecoded,
        ("detection", "raw"): FCOSRaw,
    }
    spread: ClassVar[Mapping[str, tuple[float, float]]] = {
        "head.classification_head.cls_logits": (-3.0, 1.5),
        "head.regression_head.bbox_reg": (2.0, 1.0),
        "head.regression_head.bbox_ctrness": (0.0, 1.0),
    }
