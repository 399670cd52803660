"""The decode head of DeepLabV3.

Source: Chen et al., Rethinking Atrous Convolution for Semantic Image Segmentation, 2017; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


@MODELS.register_module()
class ASPPHead(DecodeHead):
    """One map, convolved at several dilations, beside its mean. `options` as DecodeHead takes them."""

    def __init__(
        self,
        in_channels: int,
        channels: int,
        num_classes: int,
        dilations: Sequence[int] = (1, 6, 12, 18),
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        total = sum(self.in_channels)
        self.image_pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), ConvModule(total, channels, 1))
        self.aspp_modules = nn.ModuleList(self.branch(total, channels, dilation) for dilation in dilations)
        self.bottleneck = ConvModule((len(dilations) + 1) * channels, channels, 3)

    def branch(self, in_channels: int, channels: int, dilation: int) -> nn.Module:
        """The convolution of one dilation; of 1, it is 1x1."""
        return ConvModule(in_channels, channels, 1 if dilation == 1 else 3, dilation=dilation)

    def pyramid(self, features: Sequence[Tensor]) -> Tensor:
        """Feature maps -> [N, channels, h, w]."""
        x = self.joined(features)
        pooled = resize(self.image_pool(x), x.shape[2:], self.align_corners)
        out: Tensor = self.bottleneck(torch.cat([pooled, *(branch(x) for branch in self.aspp_modules)], dim=1))
        return out

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        return self.classified(self.pyramid(features))
