"""What images exercise of segmentors: the classes that occur, and windows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from zoo.contract.coverage.usage import Usage, listened
from zoo.tasks.semantic_segmentation.proof.model_logits import model_logits


@contextmanager
def class_coverage(model: nn.Module, usage: Usage) -> Iterator[None]:
    """Count into `usage` the pixels of each class while the context lasts."""

    def note(_model: nn.Module, _arguments: Any, result: Any) -> None:
        logits = model_logits(result)
        labels = logits.argmax(dim=1)
        for label in range(logits.shape[1]):
            usage.add("pixels", f"of class {label}", (labels == label).sum(), sought=False)

    hook = model.register_forward_hook(note)  # behind the model's own hooks, which may change what it gives
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def window_coverage(model: nn.Module, usage: Usage) -> Iterator[None]:
    """Count into `usage` the windows of slide inference while the context lasts."""

    def window(_result: Tensor, *_arguments: Any) -> None:
        usage.add("windows", "of slide inference", 1)

    with listened(model, "encode_decode", window):
        yield
