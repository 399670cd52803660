"""MobileViT's patches at a dynamic size: features are always resized to a multiple of a patch, and back.

A patch of ph x pw elements; the elements at one place of all patches are a sequence for the transformer:

    [N, C, rows * ph, columns * pw]  <->  [N * ph * pw, rows * columns, C]
"""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from transformers.models.mobilevit import modeling_mobilevit

from rewriters.feature_patches import cut, fill, grid_over, join
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites

REASON = "whether features are resized is decided while tracing, and dynamo freezes their size: at another size the "
REASON += "graph fails"
WRITTEN_FOR = "transformers 5.23"
BATCH, SIZE, GRID = "batch", "size before the patches", "grid of patches"


@rewrites(modeling_mobilevit.MobileViTLayer, "unfolding", reason=REASON, written_for=WRITTEN_FOR)
def unfolding_resized(_original: Callable[..., tuple[Tensor, dict[str, Any]]], self: Any, features: Tensor) -> Any:
    """Features [N, C, h, w] of any size -> sequences, and what `folding_resized` needs.

    Resizing to the same size changes nothing.
    """
    if has_fixed_size():
        return NotImplemented
    grid = grid_over(features, (self.patch_height, self.patch_width))
    patches = cut(fill(features, grid, align_corners=False), grid)  # [N, C, pixels, patches]
    sizes = {BATCH: features.shape[0], SIZE: features.shape[-2:], GRID: grid}
    return patches.permute(0, 2, 3, 1).flatten(0, 1), sizes


@rewrites(modeling_mobilevit.MobileViTLayer, "folding", reason=REASON, written_for=WRITTEN_FOR)
def folding_resized(_original: Callable[..., Tensor], self: Any, patches: Tensor, info_dict: dict[str, Any]) -> Any:
    """Sequences -> features [N, C, h, w] of their size before the patches."""
    if SIZE not in info_dict:
        return NotImplemented
    pixels = self.patch_height * self.patch_width
    places = patches.reshape(info_dict[BATCH], pixels, *patches.shape[1:]).permute(0, 3, 1, 2)
    return F.interpolate(join(places, info_dict[GRID]), size=info_dict[SIZE], mode="bilinear", align_corners=False)
