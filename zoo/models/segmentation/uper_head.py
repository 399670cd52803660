"""The decode head of UPerNet.

Source: Xiao et al., Unified Perceptual Parsing for Scene Understanding, ECCV 2018; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.models.segmentation.psp_head import PyramidPooling
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


@MODELS.register_module()
class UPerHead(DecodeHead):
    """A feature pyramid over all maps, topped by pyramid pooling. `options` as DecodeHead takes them."""

    def __init__(
        self,
        in_channels: Sequence[int],
        channels: int,
        num_classes: int,
        pool_scales: Sequence[int] = (1, 2, 3, 6),
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        *lower, top = self.in_channels
        self.psp_modules = PyramidPooling(pool_scales, top, channels, align_corners=self.align_corners)
        self.bottleneck = ConvModule(top + len(pool_scales) * channels, channels, 3)
        self.lateral_convs = nn.ModuleList(ConvModule(c, channels, 1) for c in lower)
        self.fpn_convs = nn.ModuleList(ConvModule(channels, channels, 3) for _ in lower)
        self.fpn_bottleneck = ConvModule(len(self.in_channels) * channels, channels, 3)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        *lower, top = self.selected(features)
        x = self.bottleneck(torch.cat([top, *self.psp_modules(top)], dim=1))
        levels = [x]  # from the top down, before their convolutions
        for lateral, feature in zip(reversed(self.lateral_convs), reversed(lower), strict=True):
            levels.insert(0, lateral(feature) + resize(levels[0], feature.shape[2:], self.align_corners))
        size = levels[0].shape[2:]
        outs = [conv(level) for conv, level in zip(self.fpn_convs, levels, strict=False)] + levels[-1:]
        outs[1:] = [resize(out, size, self.align_corners) for out in outs[1:]]
        return self.classified(self.fpn_bottleneck(torch.cat(outs, dim=1)))
