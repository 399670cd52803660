"""The base of the families of detectors that are called as torchvision's are."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from zoo.families.family import Family


class DetectorFamily(Family):
    """In training they take a list of images and a list of targets, and give losses."""

    def losses(self, model: Any, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """Of images float32 [N, 3, H, W] and targets, N x torchvision's dictionary."""
        losses: Mapping[str, Tensor] = model(list(batch["images"]), batch["targets"])
        return losses
