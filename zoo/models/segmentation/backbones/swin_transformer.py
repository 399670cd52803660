"""The Swin Transformer as a backbone.

Source: Liu et al., Swin Transformer: Hierarchical Vision Transformer using Shifted Windows, ICCV 2021; parameter names
as in mmseg.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zoo.models.segmentation.backbones.shifted_windows import ShiftedWindows
from zoo.models.segmentation.backbones.transformer_layer import MapLayer, NormedPatches, filled
from zoo.registry import MODELS


class Merging(nn.Module):
    """[N, h, w, C] -> [N, h / 2, w / 2, 2 C]: four places become one; an odd side is filled up with zeros."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * channels)
        self.reduction = nn.Linear(4 * channels, 2 * channels, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = filled(x.permute(0, 3, 1, 2), 2)
        count, channels, height, width = x.shape
        x = x.reshape(count, channels, height // 2, 2, width // 2, 2).permute(0, 2, 4, 1, 3, 5)
        out: Tensor = self.reduction(self.norm(x.reshape(count, height // 2, width // 2, 4 * channels)))
        return out


class Stage(nn.Module):
    """Blocks of one resolution, every second one with shifted windows, and what makes the next stage's input."""

    def __init__(self, blocks: Sequence[MapLayer], downsample: Merging | None) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*blocks)
        self.downsample = downsample


@MODELS.register_module()
class SwinTransformer(nn.Module):
    """images [N, 3, H, W] -> the maps of the stages `out_indices`, of `embed_dims` x (1, 2, 4, 8) channels.

    They are at 1/patch_size of the image and half of it from stage to stage. `window_size`: the side of a window.
    `drop_path_rate`: as MixVisionTransformer's.
    """

    def __init__(
        self,
        embed_dims: int = 96,
        patch_size: int = 4,
        window_size: int = 7,
        mlp_ratio: int = 4,
        depths: Sequence[int] = (2, 2, 6, 2),
        num_heads: Sequence[int] = (3, 6, 12, 24),
        out_indices: Sequence[int] = (0, 1, 2, 3),
        drop_path_rate: float = 0.1,
        *,
        qkv_bias: bool = True,
    ) -> None:
        super().__init__()
        self.out_indices = tuple(out_indices)
        self.patch_embed = NormedPatches(embed_dims, patch_size)
        rates = iter(torch.linspace(0, drop_path_rate, sum(depths), device="cpu").tolist())
        self.stages = nn.ModuleList()
        for index, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            width = embed_dims * 2**index
            attentions = [
                ShiftedWindows(width, heads, window_size, window_size // 2 if number % 2 else 0, qkv_bias=qkv_bias)
                for number in range(depth)
            ]
            blocks = [MapLayer(attention, width, mlp_ratio, next(rates)) for attention in attentions]
            self.stages.append(Stage(blocks, Merging(width) if index < len(depths) - 1 else None))
            if index in self.out_indices:
                self.add_module(f"norm{index}", nn.LayerNorm(width))

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.patch_embed(x)
        maps = []
        for index, stage in enumerate(self.stages):
            x = stage.blocks(x)  # type: ignore[operator]
            if index in self.out_indices:
                maps.append(self.get_submodule(f"norm{index}")(x).permute(0, 3, 1, 2))
            if stage.downsample is not None:
                x = stage.downsample(x)  # type: ignore[operator]
        return maps
