"""The family of segmentors in the manner of mmseg."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar, cast

from torch import Tensor, nn

from zoo.contract.constants import Case, Constant
from zoo.contract.constants.constant import normalization
from zoo.contract.coverage import Usage
from zoo.families import Contracts, Family, Sliding, register
from zoo.models.segmentation.coverage import class_coverage, window_coverage
from zoo.models.segmentation.encoder_decoder import EncoderDecoder
from zoo.tasks.semantic_segmentation.proof import SegmentationProof


@register(EncoderDecoder)
class EncoderDecoderFamily(Family):
    """Whole inference, or over sliding windows."""

    name: ClassVar[str] = "EncoderDecoder"
    contracts: ClassVar[Contracts] = {
        ("semantic-segmentation", level): contract for level, contract in SegmentationProof.contracts.items()
    }
    rewriters: ClassVar[str | None] = "rewriters.segmentation"

    def sliding(self, model: nn.Module) -> Sliding | None:
        """By the model's test_cfg."""
        segmentor = cast("EncoderDecoder", model)
        if not segmentor.slides:
            return None
        name = "zoo.EncoderDecoder.slide_inference"
        return Sliding(segmentor.windows, segmentor.num_classes, segmentor.encode_decode, rewriter=name)

    def own_normalization(self, model: Any) -> tuple[Tensor, Tensor] | None:
        """By its own buffers, unless they leave the images as they are."""
        return (model.mean, model.std) if model.mean.any() or (model.std != 1).any() else None

    def constants(self, model: Any, case: Case) -> Iterator[Constant]:  # noqa: ARG002 - the same for every case
        """The normalisation of the images, where it is the model's own."""
        if (own := self.own_normalization(model)) is not None:
            yield from normalization("", *own)

    @contextmanager
    def coverage(self, model: nn.Module, usage: Usage) -> Iterator[None]:
        """The classes that occur, and windows."""
        windows = nullcontext() if self.sliding(model) is None else window_coverage(model, usage)
        with class_coverage(model, usage), windows:
            yield
