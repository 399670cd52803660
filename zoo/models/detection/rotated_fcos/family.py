"""The family of RotatedFCOS."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, cast

from torch import Tensor, nn

from zoo.contract.constants import Case, Constant
from zoo.contract.coverage import Usage
from zoo.families import Contracts, Family, register
from zoo.models.detection.rotated_fcos.constants import rotated_fcos_constants
from zoo.models.detection.rotated_fcos.coverage import rotated_fcos_coverage
from zoo.models.detection.rotated_fcos.levels import RotatedFCOSDecoded, RotatedFCOSFinal, RotatedFCOSRaw
from zoo.models.detection.rotated_fcos.rotated_fcos import RotatedFCOS


@register(RotatedFCOS)
class RotatedFCOSFamily(Family):
    """A score for each place and class, and a box for each place; candidates are kept level by level."""

    name: ClassVar[str] = "RotatedFCOS"
    contracts: ClassVar[Contracts] = {
        ("rotated-detection", "final"): RotatedFCOSFinal,
        ("rotated-detection", "decoded"): RotatedFCOSDecoded,
        ("rotated-detection", "raw"): RotatedFCOSRaw,
    }
    rewriters: ClassVar[str | None] = "rewriters.rotated_fcos"
    float32_parts: ClassVar[tuple[str, ...]] = ("backbone", "head")

    def constants(self, model: nn.Module, case: Case) -> Iterator[Constant]:
        """Places, strides and thresholds."""
        return rotated_fcos_constants(cast("RotatedFCOS", model), case)

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """Levels and thresholds."""
        return rotated_fcos_coverage(cast("RotatedFCOS", model), usage)

    def losses(self, model: Any, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """Of images float32 [N, 3, H, W] and targets, N x {"rotated_boxes" [n, 5], "labels" [n]}."""
        targets = [{"boxes": target["rotated_boxes"], "labels": target["labels"]} for target in batch["targets"]]
        losses: Mapping[str, Tensor] = model(batch["images"], targets)
        return losses
