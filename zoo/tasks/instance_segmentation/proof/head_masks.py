"""The masks of a detector before they are pasted to the image."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn


@contextmanager
def head_masks(model: nn.Module) -> Iterator[list[Tensor]]:
    """Gathers masks as the model's heads give them: probabilities [n, h, w] for each image, or [N, K, h, w] padded.

    torchvision pastes those of its `roi_heads` to the image afterwards, and keeps only that; another model gives masks
    in cells of the box itself.
    """
    masks: list[Tensor] = []

    def gather(_module: nn.Module, _args: object, output: Any) -> None:
        dictionaries = output[0] if isinstance(output, tuple) else output  # RoI heads give their losses as well
        masks.extend(entry["masks"].squeeze(-3) for entry in dictionaries)

    hook = getattr(model, "roi_heads", model).register_forward_hook(gather)
    try:
        yield masks
    finally:
        hook.remove()
