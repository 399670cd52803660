"""The masks of an R-CNN before they are pasted to the image."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from torch import Tensor, nn
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN


@contextmanager
def head_masks(model: nn.Module) -> Iterator[list[Tensor]]:
    """Gathers masks as the RoI heads give them: probabilities [n, 28, 28] for each image, or [N, K, 28, 28] padded.

    torchvision pastes them to the image afterwards, and keeps only that.
    """
    seen: list[Tensor] = []
    heads = cast("GeneralizedRCNN", model).roi_heads
    hook = heads.register_forward_hook(
        lambda _module, _args, output: seen.extend(entry["masks"].squeeze(-3) for entry in output[0])
    )
    try:
        yield seen
    finally:
        hook.remove()
