"""The family of mmsegmentation's segmentors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

from torch import Tensor, nn

from zoo.codebases.mmcv_ext import stand_in
from zoo.contract.coverage import Usage
from zoo.families import Contracts, Family, Sliding, register
from zoo.installed_versions import installed_versions
from zoo.models.mmseg.mmseg_segmentor import MmsegSegmentor
from zoo.models.segmentation.coverage import class_coverage, window_coverage
from zoo.tasks.semantic_segmentation.proof import SegmentationProof

LIBRARIES = ("mmsegmentation", "onedl-mmsegmentation", "mmcv", "mmcv-lite", "onedl-mmcv", "mmengine", "onedl-mmengine")
"""Each comes under several names."""


@register(MmsegSegmentor)
class MmsegFamily(Family):
    """Whole inference, or over sliding windows."""

    name: ClassVar[str] = "MmsegSegmentor"
    contracts: ClassVar[Contracts] = {
        ("semantic-segmentation", level): contract for level, contract in SegmentationProof.contracts.items()
    }
    rewriters: ClassVar[str | None] = "rewriters.mmsegmentation"

    def libraries(self) -> Mapping[str, str]:
        """mmsegmentation and what it stands on; the stand-in for mmcv's compiled operators, where it is in use."""
        return {**installed_versions(LIBRARIES), **stand_in.versions()}

    def sliding(self, model: Any) -> Sliding | None:
        """By the model's test_cfg."""
        if not model.slides:
            return None
        name = "zoo.MmsegSegmentor.slide_inference"
        return Sliding(model.windows, model.num_classes, model.encode_decode, rewriter=name)

    def own_normalization(self, model: nn.Module) -> tuple[Tensor, Tensor] | None:  # noqa: ARG002 - of no model
        """The config's `preprocess` has it."""
        return None

    @contextmanager
    def coverage(self, model: nn.Module, usage: Usage) -> Iterator[None]:
        """The classes that occur, and windows."""
        windows = nullcontext() if self.sliding(model) is None else window_coverage(model, usage)
        with class_coverage(model, usage), windows:
            yield
