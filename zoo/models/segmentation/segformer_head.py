"""The decode head of SegFormer.

Source: Xie et al., SegFormer: Simple and Efficient Design for Semantic Segmentation with Transformers, NeurIPS 2021;
parameter names as in mmseg.
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
class SegformerHead(DecodeHead):
    """All maps through a 1x1 convolution each, at the size of the first. `options` as DecodeHead takes them."""

    def __init__(self, in_channels: Sequence[int], channels: int, num_classes: int, **options: Any) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        self.convs = nn.ModuleList(ConvModule(c, channels, 1) for c in self.in_channels)
        self.fusion_conv = ConvModule(channels * len(self.in_channels), channels, 1)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        first, *others = [conv(x) for conv, x in zip(self.convs, self.selected(features), strict=True)]
        size = first.shape[2:]
        out = torch.cat([first] + [resize(x, size, self.align_corners) for x in others], dim=1)
        return self.classified(self.fusion_conv(out))
