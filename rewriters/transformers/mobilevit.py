"""MobileViT's patches at a dynamic size: features are always resized to a multiple of a patch, and back.

A patch of ph x pw elements; the elements at one place of all patches are a sequence for the transformer:

    [N, C, rows * ph, columns * pw]  <->  [N * ph * pw, rows * columns, C]
"""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from transformers.models.mobilevit import modeling_mobilevit

from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.transformers.swin import missing

REASON = "whether features are resized is decided while tracing, and dynamo freezes their size: at another size the "
REASON += "graph fails"
WRITTEN_FOR = "transformers 5.23"
BATCH, SIZE, PATCHES = "batch", "size before the patches", "rows and columns of patches"


@rewrites(modeling_mobilevit.MobileViTLayer, "unfolding", reason=REASON, written_for=WRITTEN_FOR)
def unfolding_resized(_original: Callable[..., tuple[Tensor, dict[str, Any]]], self: Any, features: Tensor) -> Any:
    """Features [N, C, h, w] of any size -> sequences, and what `folding_resized` needs.

    Resizing to the same size changes nothing.
    """
    if has_fixed_size():
        return NotImplemented
    batch, channels, height, width = features.shape
    side, other = self.patch_height, self.patch_width
    rows, columns = (height + missing(height, side)) // side, (width + missing(width, other)) // other
    resized = F.interpolate(features, size=(rows * side, columns * other), mode="bilinear", align_corners=False)
    patches = resized.reshape(batch, channels, rows, side, columns, other).permute(0, 3, 5, 2, 4, 1)
    sizes = {BATCH: batch, SIZE: (height, width), PATCHES: (rows, columns)}
    return patches.reshape(batch * side * other, rows * columns, channels), sizes


@rewrites(modeling_mobilevit.MobileViTLayer, "folding", reason=REASON, written_for=WRITTEN_FOR)
def folding_resized(_original: Callable[..., Tensor], self: Any, patches: Tensor, info_dict: dict[str, Any]) -> Any:
    """Sequences -> features [N, C, h, w] of their size before the patches."""
    if SIZE not in info_dict:
        return NotImplemented
    side, other, (rows, columns) = self.patch_height, self.patch_width, info_dict[PATCHES]
    places = patches.reshape(info_dict[BATCH], side, other, rows, columns, patches.shape[-1])
    features = places.permute(0, 5, 3, 1, 4, 2).reshape(-1, patches.shape[-1], rows * side, columns * other)
    return F.interpolate(features, size=info_dict[SIZE], mode="bilinear", align_corners=False)
