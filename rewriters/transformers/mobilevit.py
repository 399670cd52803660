"""MobileViT's patches at a dynamic size: features are always resized to a multiple of a patch, and back."""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from transformers.models.mobilevit import modeling_mobilevit

from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.transformers.swin import missing

REASON = "whether features are resized is decided while tracing: the graph fails at a size that needs the other"
WRITTEN_FOR = "transformers 5.23"
SIZE = "size before the patches"  # a key of what unfolding gives folding


@rewrites(modeling_mobilevit.MobileViTLayer, "unfolding", reason=REASON, written_for=WRITTEN_FOR)
def unfolding_resized(original: Callable[..., tuple[Tensor, dict[str, Any]]], self: Any, features: Tensor) -> Any:
    """Features [N, C, h, w] of any size; resizing to the same size changes nothing."""
    if has_fixed_size():
        return NotImplemented
    height, width = features.shape[2:]
    size = (height + missing(height, self.patch_height), width + missing(width, self.patch_width))
    patches, sizes = original(self, F.interpolate(features, size=size, mode="bilinear", align_corners=False))
    return patches, {**sizes, SIZE: (height, width)}


@rewrites(modeling_mobilevit.MobileViTLayer, "folding", reason=REASON, written_for=WRITTEN_FOR)
def folding_resized(original: Callable[..., Tensor], self: Any, patches: Tensor, info_dict: dict[str, Any]) -> Any:
    """Back to the features' own size."""
    if SIZE not in info_dict:
        return NotImplemented
    return F.interpolate(original(self, patches, info_dict), size=info_dict[SIZE], mode="bilinear", align_corners=False)
