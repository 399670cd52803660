"""The family of torchvision's segmentors."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.models.segmentation._utils import _SimpleSegmentationModel
from torchvision.models.segmentation.lraspp import LRASPP

from zoo.contract.constants import Case, Constant
from zoo.contract.constants.constant import normalization
from zoo.contract.coverage import Usage
from zoo.families import Contracts, Family, register
from zoo.models.segmentation.coverage import class_coverage
from zoo.tasks.class_info import IGNORE_LABEL
from zoo.tasks.semantic_segmentation.proof import SegmentationProof

LOSS_WEIGHTS = {"out": 1.0, "aux": 0.5}  # torchvision's recipes


@register(_SimpleSegmentationModel, LRASPP)
class TorchvisionSegmentors(Family):
    """FCN, DeepLabV3 and LRASPP."""

    name: ClassVar[str] = "a torchvision segmentor"
    contracts: ClassVar[Contracts] = {
        ("semantic-segmentation", level): contract for level, contract in SegmentationProof.contracts.items()
    }

    def constants(self, model: nn.Module, case: Case) -> Iterator[Constant]:  # noqa: ARG002 - the same for every case
        """The normalisation of the images, where the zoo's builder has put it into the model."""
        buffers = dict(model.named_buffers(recurse=False))
        if {"image_mean", "image_std"} <= buffers.keys():
            yield from normalization("", buffers["image_mean"], buffers["image_std"])

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """The classes that occur."""
        return class_coverage(model, usage)

    def losses(self, model: nn.Module, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """The cross entropy of each output. Of images float32 [N, 3, H, W] and label_maps int64 [N, H, W]."""
        return {
            f"loss_{name}": LOSS_WEIGHTS[name] * F.cross_entropy(logits, batch["label_maps"], ignore_index=IGNORE_LABEL)
            for name, logits in model(batch["images"]).items()
        }
