"""The family of torchvision's segmentors."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import ClassVar

from torch import nn
from torchvision.models.segmentation._utils import _SimpleSegmentationModel
from torchvision.models.segmentation.lraspp import LRASPP

from zoo.contract.constants import Case, Constant
from zoo.contract.constants.constant import normalization
from zoo.contract.coverage import Usage
from zoo.families import Contracts, Family, register
from zoo.models.segmentation.coverage import class_coverage
from zoo.tasks.semantic_segmentation.proof import SegmentationProof


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
