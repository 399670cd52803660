"""The two Twins, PCPVT and SVT.

Source: Chu et al., Twins: Revisiting the Design of Spatial Attention in Vision Transformers, NeurIPS 2021; parameter
names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.backbones.local_attention import GlobalAttention, LocalAttention
from zoo.models.segmentation.backbones.transformer_layer import MapLayer, NormedPatches
from zoo.registry import MODELS

NORM_EPS = 1e-5


class PositionEncoding(nn.Module):
    """[N, h, w, C] plus a depthwise convolution of it, which tells each place where it is."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.proj(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return out


@MODELS.register_module()
class PCPVT(nn.Module):
    """images [N, 3, H, W] -> the maps of the stages `out_indices`, of `embed_dims` channels.

    `patch_sizes`, `num_heads`, `mlp_ratios`, `depths`, `sr_ratios` have an entry for each stage. Every layer attends to
    a map that is `sr_ratios` times smaller. `norm_after_stage`: whether the maps are normalised. `drop_path_rate`: as
    MixVisionTransformer's.
    """

    def __init__(
        self,
        embed_dims: Sequence[int] = (64, 128, 256, 512),
        patch_sizes: Sequence[int] = (4, 2, 2, 2),
        num_heads: Sequence[int] = (1, 2, 4, 8),
        mlp_ratios: Sequence[int] = (4, 4, 4, 4),
        depths: Sequence[int] = (3, 4, 6, 3),
        sr_ratios: Sequence[int] = (8, 4, 2, 1),
        out_indices: Sequence[int] = (0, 1, 2, 3),
        drop_path_rate: float = 0.0,
        *,
        qkv_bias: bool = False,
        norm_after_stage: bool = False,
    ) -> None:
        super().__init__()
        self.out_indices = tuple(out_indices)
        before = (3, *embed_dims)
        self.patch_embeds = nn.ModuleList(
            NormedPatches(width, side, wide) for wide, width, side in zip(before, embed_dims, patch_sizes, strict=False)
        )
        self.position_encodings = nn.ModuleList(PositionEncoding(width) for width in embed_dims)
        rates = iter(torch.linspace(0, drop_path_rate, sum(depths), device="cpu").tolist())
        self.layers = nn.ModuleList()
        for stage, width in enumerate(embed_dims):
            attentions = [
                self.attention(stage, index, width, num_heads[stage], sr_ratios[stage], qkv_bias=qkv_bias)
                for index in range(depths[stage])
            ]
            self.layers.append(
                nn.ModuleList(MapLayer(attention, width, mlp_ratios[stage], next(rates)) for attention in attentions)
            )
        self.norm_list = nn.ModuleList(nn.LayerNorm(width, NORM_EPS) for width in embed_dims if norm_after_stage)

    def attention(
        self,
        stage: int,  # noqa: ARG002 - of SVT
        index: int,  # noqa: ARG002 - of SVT
        channels: int,
        num_heads: int,
        reduction: int,
        *,
        qkv_bias: bool,
    ) -> nn.Module:
        """Of a layer, the `index`-th of its stage."""
        return GlobalAttention(channels, num_heads, reduction, qkv_bias, NORM_EPS)

    def forward(self, x: Tensor) -> list[Tensor]:
        maps = []
        for stage, (patches, encoding, layers) in enumerate(
            zip(self.patch_embeds, self.position_encodings, self.layers, strict=True)
        ):
            first, *others = layers.children()
            out = encoding(first(patches(x)))
            for layer in others:
                out = layer(out)
            if len(self.norm_list):
                out = self.norm_list[stage](out)
            x = out.permute(0, 3, 1, 2)
            if stage in self.out_indices:
                maps.append(x)
        return maps


@MODELS.register_module()
class SVT(PCPVT):
    """As PCPVT, and every second layer, beginning with the first, attends within windows of `window_sizes`."""

    def __init__(self, window_sizes: Sequence[int] = (7, 7, 7, 7), **options: Any) -> None:
        self.window_sizes = tuple(window_sizes)
        super().__init__(**options)

    def attention(
        self, stage: int, index: int, channels: int, num_heads: int, reduction: int, *, qkv_bias: bool
    ) -> nn.Module:
        """As PCPVT's."""
        if index % 2:
            return super().attention(stage, index, channels, num_heads, reduction, qkv_bias=qkv_bias)
        return LocalAttention(channels, num_heads, self.window_sizes[stage], qkv_bias=qkv_bias)
