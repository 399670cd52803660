"""Segmentors that do something else for some sizes of an image: an export would keep what the traced size did."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from rewriters.patching.fixed_size import has_fixed_size, require_fixed_size
from rewriters.patching.rewriter import rewrites
from zoo.models.segmentation.backbones import VisionTransformer
from zoo.models.segmentation.context_heads import PSAHead


@rewrites(
    VisionTransformer,
    "positions",
    reason="resizes positions only where the number of patches is not the trained one, which a graph of several sizes "
    "cannot know before it runs",
    written_for="zooport 0.1",
)
def positions_of_any_size(_original: Callable[..., Tensor], self: VisionTransformer, size: Sequence[int]) -> Any:
    """Of h x w patches, [1, h * w, C]; the graph chooses between the trained ones and the resized ones."""
    if has_fixed_size():
        return NotImplemented
    trained = self.pos_embed[:, 1:]
    last = trained.shape[1] - 1
    numbers = torch.arange(size[0] * size[1])
    as_trained = trained.index_select(1, numbers.clamp(max=last))
    return torch.where(numbers[-1] == last, as_trained, self.resized_positions(size))


@rewrites(
    PSAHead,
    "shrunk",
    reason="chooses how it resizes by whether the size of its map is even",
    written_for="zooport 0.1",
)
def shrunk_at_one_size(_original: Callable[..., Any], self: PSAHead, x: Tensor) -> Any:
    """Raises ExportError for a dynamic height or width."""
    require_fixed_size("PSANet's head")
    return NotImplemented
