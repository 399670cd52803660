"""The patches of MobileViT and MobileViTV2.

A patch of ph x pw elements; the elements at one place of all patches are a sequence for MobileViT's transformer:

    [N, C, rows * ph, columns * pw]  <->  [N * ph * pw, rows * columns, C]
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from transformers.models.mobilevit import modeling_mobilevit
from transformers.models.mobilevitv2 import modeling_mobilevitv2

from rewriters.feature_patches import Grid, cut, fill, grid_over, join
from rewriters.patching.constants import as_ints
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites

REASON = "whether features are resized is decided while tracing, and dynamo freezes their size: at another size the "
REASON += "graph fails"
FOLD = "torchscript refuses to fold, and would keep the size that it folds to"
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


@rewrites(
    modeling_mobilevitv2.MobileViTV2Layer, "unfolding", reason=FOLD, written_for=WRITTEN_FOR, exporter="torchscript"
)
def unfolding_whole_patches(_original: Callable[..., Any], self: Any, feature_map: Tensor) -> Any:
    """Features [N, C, h, w] -> [N, C, ph * pw, rows * columns] and (h, w). What fills no patch is left out."""
    shape = feature_map.shape[-2:]
    size = as_ints(shape) if has_fixed_size() else tuple(shape)
    grid = _whole_patches(self, size)
    return cut(feature_map[..., : grid.size[0], : grid.size[1]], grid), size


@rewrites(
    modeling_mobilevitv2.MobileViTV2Layer, "folding", reason=FOLD, written_for=WRITTEN_FOR, exporter="torchscript"
)
def folding_whole_patches(_original: Callable[..., Tensor], self: Any, patches: Tensor, output_size: Any) -> Any:
    """The inverse: what filled no patch is 0."""
    grid = _whole_patches(self, output_size)
    height, width = (side - used for side, used in zip(output_size, grid.size, strict=True))
    return F.pad(join(patches, grid), (0, width, 0, height))


def _whole_patches(layer: Any, size: Sequence[Any]) -> Grid:
    patch = (layer.patch_height, layer.patch_width)
    return Grid(patch, size[0] // patch[0], size[1] // patch[1])
