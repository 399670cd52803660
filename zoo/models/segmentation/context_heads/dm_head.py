"""The decode head of DMNet.

Source: He et al., Dynamic Multi-Scale Filters for Semantic Segmentation, ICCV 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


class DynamicConvolution(nn.Module):
    """[N, C_in, h, w] -> [N, C, h, w]: each channel of each image, convolved by a filter that the image itself makes.

    The filter is made of the means of `size` x `size` cells. The convolution is done tap by tap, as a sum of moved maps
    that are each scaled: a batch of filters is no operator of ONNX.
    """

    def __init__(self, size: int, in_channels: int, channels: int, *, fusion: bool) -> None:
        super().__init__()
        self.size = size
        self.pool = nn.AdaptiveAvgPool2d(size)
        self.filter_gen_conv = nn.Conv2d(in_channels, channels, 1)
        self.input_redu_conv = ConvModule(in_channels, channels, 1)
        self.norm = nn.BatchNorm2d(channels)
        self.activate = nn.ReLU(inplace=True)
        self.fusion_conv = ConvModule(channels, channels, 1) if fusion else None

    def forward(self, x: Tensor) -> Tensor:
        filters = self.filter_gen_conv(self.pool(x))  # [N, C, size, size]
        x = self.input_redu_conv(x)
        height, width = x.shape[2:]
        before, after = self.size // 2, (self.size - 1) // 2
        padded = F.pad(x, (before, after, before, after))
        taps = [
            padded[:, :, top : top + height, left : left + width] * filters[:, :, top : top + 1, left : left + 1]
            for top in range(self.size)
            for left in range(self.size)
        ]
        out: Tensor = self.activate(self.norm(sum(taps[1:], start=taps[0])))
        return out if self.fusion_conv is None else self.fusion_conv(out)


@MODELS.register_module()
class DMHead(DecodeHead):
    """One map beside its dynamic convolutions of `filter_sizes`. `fusion`: each is convolved once more.

    `options` as DecodeHead takes them.
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        channels: int,
        num_classes: int,
        filter_sizes: Sequence[int] = (1, 3, 5, 7),
        *,
        fusion: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        total = sum(self.in_channels)
        self.dcm_modules = nn.ModuleList(
            DynamicConvolution(size, total, channels, fusion=fusion) for size in filter_sizes
        )
        self.bottleneck = ConvModule(total + len(filter_sizes) * channels, channels, 3)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.joined(features)
        return self.classified(self.bottleneck(torch.cat([x, *(conv(x) for conv in self.dcm_modules)], dim=1)))
