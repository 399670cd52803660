"""The Mix Transformer (MiT), SegFormer's backbone.

Source: Xie et al., SegFormer: Simple and Efficient Design for Semantic Segmentation with Transformers, NeurIPS 2021;
parameter names as in mmseg.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torchvision.ops import StochasticDepth

from zoo.registry import MODELS

NORM_EPS = 1e-6
Norm = partial(nn.LayerNorm, eps=NORM_EPS)


def to_tokens(x: Tensor) -> Tensor:
    """[N, C, h, w] -> [N, h * w, C]."""
    return x.flatten(2).transpose(1, 2)


def to_map(tokens: Tensor, size: Sequence[int]) -> Tensor:
    """[N, h * w, C] -> [N, C, h, w]; `size` is (h, w)."""
    batch, _, channels = tokens.shape
    return tokens.transpose(1, 2).reshape(batch, channels, *size)


class OverlappingPatches(nn.Module):
    """[N, C_in, H, W] -> normalised tokens [N, h * w, C], and their map's size (h, w)."""

    def __init__(self, in_channels: int, channels: int, patch_size: int, stride: int) -> None:
        super().__init__()
        self.projection = nn.Conv2d(in_channels, channels, patch_size, stride, patch_size // 2)
        self.norm = Norm(channels)

    def forward(self, x: Tensor) -> tuple[Tensor, Sequence[int]]:
        x = self.projection(x)
        return self.norm(to_tokens(x)), x.shape[2:]


class EfficientAttention(nn.Module):
    """Multi-head attention of all tokens [N, h * w, C] to a map that is `reduction` times smaller on each side.

    `norm_eps`: of the smaller map's norm.
    """

    def __init__(
        self, channels: int, num_heads: int, reduction: int, qkv_bias: bool, norm_eps: float = NORM_EPS
    ) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(channels, num_heads, bias=qkv_bias, batch_first=True)
        self.reduction = reduction
        if reduction > 1:
            self.sr = nn.Conv2d(channels, channels, reduction, reduction)
            self.norm = nn.LayerNorm(channels, norm_eps)

    def forward(self, x: Tensor, size: Sequence[int]) -> Tensor:
        seen = self.norm(to_tokens(self.sr(to_map(x, size)))) if self.reduction > 1 else x
        out: Tensor = self.attn(x, seen, seen, need_weights=False)[0]
        return out


class MixFFN(nn.Module):
    """Tokens [N, h * w, C] through 1x1 convolutions around a depthwise 3x3 one, which gives them their place."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        # the unnumbered places are mmseg's dropouts, of probability 0
        self.layers = nn.Sequential(
            nn.Conv2d(channels, hidden, 1),
            nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden),
            nn.GELU(),
            nn.Identity(),
            nn.Conv2d(hidden, channels, 1),
        )

    def forward(self, x: Tensor, size: Sequence[int]) -> Tensor:
        return to_tokens(self.layers(to_map(x, size)))


class TransformerLayer(nn.Module):
    """Attention and MixFFN on tokens [N, h * w, C], each after a norm and around a shortcut."""

    def __init__(
        self, channels: int, num_heads: int, hidden: int, reduction: int, drop_path: float, qkv_bias: bool
    ) -> None:
        super().__init__()
        self.norm1 = Norm(channels)
        self.attn = EfficientAttention(channels, num_heads, reduction, qkv_bias)
        self.norm2 = Norm(channels)
        self.ffn = MixFFN(channels, hidden)
        self.drop_path = StochasticDepth(drop_path, "row")

    def forward(self, x: Tensor, size: Sequence[int]) -> Tensor:
        x = x + self.drop_path(self.attn(self.norm1(x), size))
        out: Tensor = x + self.drop_path(self.ffn(self.norm2(x), size))
        return out


@MODELS.register_module()
class MixVisionTransformer(nn.Module):
    """images [N, 3, H, W] -> a feature map of each stage, of `embed_dims` x `num_heads` channels.

    At the default strides they lie at 1/4, 1/8, 1/16 and 1/32 of the image. `num_heads`, `num_layers`, `patch_sizes`,
    `strides` and `sr_ratios` have an entry for each stage. MiT-B0 is embed_dims=32, num_layers=(2, 2, 2, 2); B1 to B5
    have 64 and (2, 2, 2, 2), (3, 4, 6, 3), (3, 4, 18, 3), (3, 8, 27, 3), (3, 6, 40, 3). `drop_path_rate`: how often the
    last layer's branches are left out in training; earlier layers' less often, in proportion.
    """

    def __init__(
        self,
        embed_dims: int = 32,
        num_layers: Sequence[int] = (2, 2, 2, 2),
        num_heads: Sequence[int] = (1, 2, 5, 8),
        patch_sizes: Sequence[int] = (7, 3, 3, 3),
        strides: Sequence[int] = (4, 2, 2, 2),
        sr_ratios: Sequence[int] = (8, 4, 2, 1),
        mlp_ratio: int = 4,
        drop_path_rate: float = 0.1,
        *,
        qkv_bias: bool = True,
    ) -> None:
        super().__init__()
        rates = iter(torch.linspace(0, drop_path_rate, sum(num_layers), device="cpu").tolist())
        self.out_channels = [embed_dims * heads for heads in num_heads]
        self.layers = nn.ModuleList()
        in_channels = 3
        for stage, channels in enumerate(self.out_channels):
            blocks = [
                TransformerLayer(
                    channels, num_heads[stage], mlp_ratio * channels, sr_ratios[stage], next(rates), qkv_bias
                )
                for _ in range(num_layers[stage])
            ]
            patches = OverlappingPatches(in_channels, channels, patch_sizes[stage], strides[stage])
            self.layers.append(nn.ModuleList([patches, nn.ModuleList(blocks), Norm(channels)]))
            in_channels = channels

    def forward(self, x: Tensor) -> list[Tensor]:
        features = []
        for stage in self.layers:
            patches, blocks, norm = cast("Iterable[nn.Module]", stage)
            tokens, size = patches(x)
            for block in cast("nn.ModuleList", blocks):
                tokens = block(tokens, size)
            x = to_map(norm(tokens), size)
            features.append(x)
        return features
