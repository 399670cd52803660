"""The decode head of APCNet.

Source: He et al., Adaptive Pyramid Context Network for Semantic Segmentation, CVPR 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


class AdaptiveContext(nn.Module):
    """[N, C_in, h, w] -> [N, C, h, w], each place with the means of the `scale` x `scale` cells that suit it."""

    def __init__(self, scale: int, in_channels: int, channels: int, *, fusion: bool) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(scale)
        self.pooled_redu_conv = ConvModule(in_channels, channels, 1)
        self.input_redu_conv = ConvModule(in_channels, channels, 1)
        self.global_info = ConvModule(channels, channels, 1)
        self.gla = nn.Conv2d(channels, scale**2, 1)
        self.residual_conv = ConvModule(channels, channels, 1)
        self.fusion_conv = ConvModule(channels, channels, 1) if fusion else None

    def forward(self, x: Tensor) -> Tensor:
        cells = self.pooled_redu_conv(self.pool(x)).flatten(2)  # [N, C, scale * scale]
        x = self.input_redu_conv(x)
        whole = self.global_info(x.mean(dim=(2, 3), keepdim=True))
        weights = torch.sigmoid(self.gla(x + whole).flatten(2))  # [N, scale * scale, places]
        out = F.relu(self.residual_conv((cells @ weights).reshape(x.shape)) + x)
        return out if self.fusion_conv is None else self.fusion_conv(out)


@MODELS.register_module()
class APCHead(DecodeHead):
    """One map beside its contexts at `pool_scales`. `fusion`: each is convolved once more.

    `options` as DecodeHead takes them.
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        channels: int,
        num_classes: int,
        pool_scales: Sequence[int] = (1, 2, 3, 6),
        *,
        fusion: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        total = sum(self.in_channels)
        self.acm_modules = nn.ModuleList(
            AdaptiveContext(scale, total, channels, fusion=fusion) for scale in pool_scales
        )
        self.bottleneck = ConvModule(total + len(pool_scales) * channels, channels, 3)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.joined(features)
        return self.classified(self.bottleneck(torch.cat([x, *(context(x) for context in self.acm_modules)], dim=1)))
