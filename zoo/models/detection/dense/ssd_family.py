"""The family of torchvision's SSD and SSDLite."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import ClassVar

from torch import nn
from torchvision.models.detection.ssd import SSD

from zoo.contract.constants import Case, Constant
from zoo.contract.coverage import Usage
from zoo.families import Contracts, DetectorFamily, register
from zoo.models.detection.dense.levels import DenseRaw, SSDDecoded
from zoo.models.detection.dense.ssd_constants import ssd_constants
from zoo.models.detection.dense.ssd_coverage import ssd_coverage
from zoo.tasks.detection.proof.contracts import DetectionFinal


@register(SSD)
class SSDFamily(DetectorFamily):
    """Scores over the classes and the background; candidates are kept class by class."""

    name: ClassVar[str] = "SSD"
    contracts: ClassVar[Contracts] = {
        ("detection", "final"): DetectionFinal,
        ("detection", "decoded"): SSDDecoded,
        ("detection", "raw"): DenseRaw,
    }
    float32_parts: ClassVar[tuple[str, ...]] = ("backbone", "head")
    spread: ClassVar[Mapping[str, tuple[float, float]]] = {
        "head.classification_head": (0.0, 2.0),
        "head.regression_head": (0.0, 1.0),
    }

    def constants(self, model: nn.Module, case: Case) -> Iterator[Constant]:
        """Anchors, the box coder, thresholds."""
        return ssd_constants(model, case)

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """Thresholds of each class."""
        return ssd_coverage(model, usage)
