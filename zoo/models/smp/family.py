"""The family of segmentors of segmentation_models_pytorch. Needs the library: imported with the first of its models."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import torch.nn.functional as F
from segmentation_models_pytorch.base import SegmentationModel
from torch import Tensor, nn

from zoo.contract.coverage import Usage
from zoo.families import Contracts, Family, register
from zoo.installed_versions import installed_versions
from zoo.models.segmentation.coverage import class_coverage
from zoo.tasks.class_info import IGNORE_LABEL
from zoo.tasks.semantic_segmentation.proof import SegmentationProof


@register(SegmentationModel)
class SmpSegmentors(Family):
    """Every architecture of the library: an encoder, a decoder, and a head that gives logits at the images' size."""

    name: ClassVar[str] = "a segmentor of segmentation_models_pytorch"
    contracts: ClassVar[Contracts] = {
        ("semantic-segmentation", level): contract
        for level, contract in SegmentationProof.contracts.items()
        if level != "raw"  # the logits have the images' size
    }

    def libraries(self) -> Mapping[str, str]:
        """Its version."""
        return installed_versions(("segmentation-models-pytorch",))

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """The classes that occur."""
        return class_coverage(model, usage)

    def backbone(self, model: Any) -> nn.Module | None:
        """The encoder."""
        encoder: nn.Module = model.encoder
        return encoder

    def losses(self, model: nn.Module, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """The cross entropy. Of images float32 [N, 3, H, W] and label_maps int64 [N, H, W]."""
        return {"loss": F.cross_entropy(model(batch["images"]), batch["label_maps"], ignore_index=IGNORE_LABEL)}
