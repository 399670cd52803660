"""The decode head of DeepLabV3+.

Source: Chen et al., Encoder-Decoder with Atrous Separable Convolution for Semantic Image Segmentation, ECCV 2018;
parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.aspp_head import ASPPHead
from zoo.models.segmentation.conv_module import ConvModule, DepthwiseSeparableConvModule
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


@MODELS.register_module()
class DepthwiseSeparableASPPHead(ASPPHead):
    """ASPP with depthwise separable convolutions, refined with the backbone's first map.

    `c1_in_channels` are those of that map, reduced to `c1_channels`. `options` as ASPPHead takes them.
    """

    def __init__(
        self, in_channels: int, channels: int, num_classes: int, c1_in_channels: int, c1_channels: int, **options: Any
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        self.c1_bottleneck = ConvModule(c1_in_channels, c1_channels, 1)
        self.sep_bottleneck = nn.Sequential(
            DepthwiseSeparableConvModule(channels + c1_channels, channels, 3),
            DepthwiseSeparableConvModule(channels, channels, 3),
        )

    def branch(self, in_channels: int, channels: int, dilation: int) -> nn.Module:
        """The convolution of one dilation; of 1, it is 1x1 and not separable."""
        if dilation == 1:
            return super().branch(in_channels, channels, dilation)
        return DepthwiseSeparableConvModule(in_channels, channels, 3, dilation=dilation)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        c1 = self.c1_bottleneck(features[0])
        out = resize(self.pyramid(features), c1.shape[2:], self.align_corners)
        return self.classified(self.sep_bottleneck(torch.cat([out, c1], dim=1)))
