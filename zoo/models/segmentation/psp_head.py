"""The decode head of PSPNet.

Source: Zhao et al., Pyramid Scene Parsing Network, CVPR 2017; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


class PyramidPooling(nn.ModuleList):
    """[N, C_in, h, w] -> for each of `pool_scales` s: the mean of s x s cells, convolved, resized to [N, C, h, w]."""

    def __init__(
        self, pool_scales: Sequence[int], in_channels: int, channels: int, *, align_corners: bool = False
    ) -> None:
        super().__init__(
            nn.Sequential(nn.AdaptiveAvgPool2d(scale), ConvModule(in_channels, channels, 1)) for scale in pool_scales
        )
        self.align_corners = align_corners

    def forward(self, x: Tensor) -> list[Tensor]:
        return [resize(branch(x), x.shape[2:], self.align_corners) for branch in self]


@MODELS.register_module()
class PSPHead(DecodeHead):
    """One map beside its means over ever smaller cells. `options` as DecodeHead takes them."""

    def __init__(
        self,
        in_channels: int,
        channels: int,
        num_classes: int,
        pool_scales: Sequence[int] = (1, 2, 3, 6),
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        total = sum(self.in_channels)
        self.psp_modules = PyramidPooling(pool_scales, total, channels, align_corners=self.align_corners)
        self.bottleneck = ConvModule(total + len(pool_scales) * channels, channels, 3)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.joined(features)
        return self.classified(self.bottleneck(torch.cat([x, *self.psp_modules(x)], dim=1)))
