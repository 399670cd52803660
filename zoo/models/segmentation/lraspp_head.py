"""The decode head of LR-ASPP.

Source: Howard et al., Searching for MobileNetV3, ICCV 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


@MODELS.register_module()
class LRASPPHead(DecodeHead):
    """The last map, gated by its means over large windows, refined with the maps before it.

    `branch_channels`: what the maps before the last are reduced to. `pool_size`, `pool_stride` (h, w): the windows, in
    elements of the last map, which must not be smaller than one. `norm_eps`: of the batch norms, as in mmseg's configs.
    `options` as DecodeHead takes them. Raises ValueError where branch_channels has not one entry for each map but one.
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        channels: int,
        num_classes: int,
        branch_channels: Sequence[int] = (32, 64),
        pool_size: int = 49,
        pool_stride: Sequence[int] = (16, 20),
        norm_eps: float = 1e-3,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        *lower, last = self.in_channels
        if len(lower) != len(branch_channels):
            raise ValueError(f"branch_channels has {len(branch_channels)} entries, expected {len(lower)}")
        norm = partial(nn.BatchNorm2d, eps=norm_eps)
        self.convs = nn.Sequential()
        self.conv_ups = nn.Sequential()
        for i, (in_, out) in enumerate(zip(lower, branch_channels, strict=True)):
            self.convs.add_module(f"conv{i}", nn.Conv2d(in_, out, 1, bias=False))
            self.conv_ups.add_module(f"conv_up{i}", ConvModule(channels + out, channels, 1, norm=norm))
        self.conv_up_input = nn.Conv2d(channels, channels, 1)
        self.aspp_conv = ConvModule(last, channels, 1, norm=norm)
        self.image_pool = nn.Sequential(
            nn.AvgPool2d(pool_size, (pool_stride[0], pool_stride[1])),
            ConvModule(last, channels, 1, norm=None, activation=nn.Sigmoid, bias=False),
        )

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        *lower, last = self.selected(features)
        x = self.aspp_conv(last) * resize(self.image_pool(last), last.shape[2:], self.align_corners)
        x = self.conv_up_input(x)
        for feature, conv, conv_up in reversed(list(zip(lower, self.convs, self.conv_ups, strict=True))):
            x = resize(x, feature.shape[2:], self.align_corners)
            x = conv_up(torch.cat([x, conv(feature)], dim=1))
        return self.classified(x)
