"""ConvNeXt as a backbone.

Source: Liu et al., A ConvNet for the 2020s, CVPR 2022; parameter names as in mmpretrain, from which mmseg takes it.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torchvision.ops import StochasticDepth

from zoo.registry import MODELS


class LayerNorm2d(nn.LayerNorm):
    """Over the channels of [N, C, H, W]."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


Norm2d = partial(LayerNorm2d, eps=1e-6)


class ConvNeXtBlock(nn.Module):
    """A depthwise 7x7 convolution and two layers on the channels, scaled, around a shortcut: [N, C, H, W]."""

    def __init__(self, channels: int, drop_path: float, layer_scale: float) -> None:
        super().__init__()
        self.depthwise_conv = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.pointwise_conv1 = nn.Linear(channels, 4 * channels)
        self.act = nn.GELU()
        self.pointwise_conv2 = nn.Linear(4 * channels, channels)
        self.gamma = nn.Parameter(torch.full((channels,), layer_scale))
        self.drop_path = StochasticDepth(drop_path, "row")

    def forward(self, x: Tensor) -> Tensor:
        out = self.norm(self.depthwise_conv(x).permute(0, 2, 3, 1))
        out = self.gamma * self.pointwise_conv2(self.act(self.pointwise_conv1(out)))
        result: Tensor = x + self.drop_path(out.permute(0, 3, 1, 2))
        return result


@MODELS.register_module()
class ConvNeXt(nn.Module):
    """images [N, 3, H, W] -> four feature maps of `channels`, at 1/4, 1/8, 1/16 and 1/32 of the image.

    `depths` and `channels` have an entry for each stage; the defaults are ConvNeXt-Tiny, (3, 3, 27, 3) is Small.
    `layer_scale`: what the branches are scaled by at first. `drop_path_rate`: how often the last block's branch is left
    out in training; earlier ones less often, in proportion.
    """

    def __init__(
        self,
        depths: Sequence[int] = (3, 3, 9, 3),
        channels: Sequence[int] = (96, 192, 384, 768),
        layer_scale: float = 1.0,
        drop_path_rate: float = 0.1,
    ) -> None:
        super().__init__()
        rates = iter(torch.linspace(0, drop_path_rate, sum(depths), device="cpu").tolist())
        self.out_channels = list(channels)
        self.downsample_layers = nn.ModuleList([nn.Sequential(nn.Conv2d(3, channels[0], 4, 4), Norm2d(channels[0]))])
        for before, after in pairwise(channels):
            self.downsample_layers.append(nn.Sequential(Norm2d(before), nn.Conv2d(before, after, 2, 2)))
        self.stages = nn.ModuleList(
            nn.Sequential(*(ConvNeXtBlock(width, next(rates), layer_scale) for _ in range(depth)))
            for depth, width in zip(depths, channels, strict=True)
        )
        for stage, width in enumerate(channels):
            self.add_module(f"norm{stage}", Norm2d(width))

    def forward(self, x: Tensor) -> list[Tensor]:
        features = []
        for index, (downsample, stage) in enumerate(zip(self.downsample_layers, self.stages, strict=True)):
            x = stage(downsample(x))
            features.append(self.get_submodule(f"norm{index}")(x))
        return features
