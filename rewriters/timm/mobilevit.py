"""The blocks of MobileViT at dynamic sizes: attention within patches of a feature map, which is resized to fit them."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from timm.models.mobilevit import MobileVitBlock, MobileVitV2Block
from torch import Tensor

from rewriters.feature_patches import cut, fill, grid_over, join
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites

REASON = (
    "rounds sizes up in Python, and resizes only where they are no multiples of the patch: the traced size and choice "
    "would be silently frozen"
)


@rewrites(MobileVitBlock, "forward", reason=REASON, written_for="timm 1.0.31")
def block_at_any_size(_original: Callable[..., Tensor], self: Any, x: Tensor) -> Any:
    """Maps [N, C, h, w] -> [N, C', h, w]; at a fixed size timm's own."""
    if has_fixed_size():
        return NotImplemented
    maps = self.conv_1x1(self.conv_kxk(x))
    grid = grid_over(maps, self.patch_size)
    patches = cut(fill(maps, grid, align_corners=False), grid)
    count, channels, pixels, number = patches.shape
    tokens = patches.permute(0, 2, 3, 1).reshape(count * pixels, number, channels)
    tokens = self.norm(self.transformer(tokens))
    patches = tokens.reshape(count, pixels, number, channels).permute(0, 3, 1, 2)
    maps = F.interpolate(join(patches, grid), size=maps.shape[-2:], mode="bilinear", align_corners=False)
    maps = self.conv_proj(maps)
    fused: Tensor = maps if self.conv_fusion is None else self.conv_fusion(torch.cat((x, maps), dim=1))
    return fused


@rewrites(MobileVitV2Block, "forward", reason=REASON, written_for="timm 1.0.31")
def second_block_at_any_size(_original: Callable[..., Tensor], self: Any, x: Tensor) -> Any:
    """Maps [N, C, h, w] -> [N, C', h', w'], multiples of the patch; at a fixed size timm's own."""
    if has_fixed_size():
        return NotImplemented
    grid = grid_over(x, self.patch_size)
    maps = self.conv_1x1(self.conv_kxk(fill(x, grid, align_corners=True)))
    attended: Tensor = self.conv_proj(join(self.norm(self.transformer(cut(maps, grid))), grid))
    return attended
