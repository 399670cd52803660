"""What images exercise of segmentors: the classes that occur, and windows."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn
from torchvision.models.segmentation._utils import _SimpleSegmentationModel
from torchvision.models.segmentation.lraspp import LRASPP

from zoo.contract.coverage.usage import Usage, listened, watched
from zoo.models.segmentation import EncoderDecoder
from zoo.tasks.semantic_segmentation.proof.model_logits import model_logits


@watched.register(EncoderDecoder)
@watched.register(_SimpleSegmentationModel)
@watched.register(LRASPP)
@contextmanager
def _(model: nn.Module, usage: Usage) -> Iterator[None]:
    def note(result: Any, *_arguments: Any) -> None:
        logits = model_logits(result)
        labels = logits.argmax(dim=1)
        for label in range(logits.shape[1]):
            usage.add("pixels", f"of class {label}", (labels == label).sum(), sought=False)

    def window(_result: Tensor, *_arguments: Any) -> None:
        usage.add("windows", "of slide inference", 1)

    with ExitStack() as stack:
        stack.enter_context(listened(model, "forward", note))
        if isinstance(model, EncoderDecoder) and model.slides:
            stack.enter_context(listened(model, "encode_decode", window))
        yield
