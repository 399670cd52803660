"""The decode head of ANN.

Source: Zhu et al., Asymmetric Non-local Neural Networks for Semantic Segmentation, ICCV 2019; parameter names as in
mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.context_heads.self_attention import SelfAttention
from zoo.models.segmentation.conv_module import RELU, ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


class PooledPlaces(nn.ModuleList):
    """[N, C, h, w] -> [N, C, n], the means of s x s cells for each s of `pool_scales`, one after another."""

    def __init__(self, pool_scales: Sequence[int]) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(scale) for scale in pool_scales)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([pool(x).flatten(2) for pool in self], dim=2)


class Fusion(nn.Module):
    """Attention of the places of `high` to the pooled ones of `low`, concatenated to `high` and convolved.

    `shared`: keys are projected as queries are. `activated`: whether the convolution has an activation.
    """

    def __init__(
        self,
        low_channels: int,
        high_channels: int,
        inner: int,
        out_channels: int,
        pool_scales: Sequence[int],
        *,
        shared: bool,
        activated: bool,
    ) -> None:
        super().__init__()
        attention = SelfAttention(
            high_channels,
            low_channels,
            inner,
            out_channels,
            normed=True,
            has_out=True,
            shared=shared,
            key_downsample=PooledPlaces(pool_scales),
        )
        self.stages = nn.ModuleList([attention])
        joined = out_channels + high_channels
        self.bottleneck = ConvModule(joined, out_channels, 1, activation=RELU if activated else None)

    def forward(self, low: Tensor, high: Tensor) -> Tensor:
        context = self.stages[0](high, low)
        out: Tensor = self.bottleneck(torch.cat([context, high], dim=1))
        return out


@MODELS.register_module()
class ANNHead(DecodeHead):
    """Two maps, fused by attention of the second to the first, then attention of the result to itself.

    `project_channels`: in which places are compared. `key_pool_scales`: the cells that the places are attentive to.
    `options` as DecodeHead takes them.
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        channels: int,
        num_classes: int,
        project_channels: int,
        key_pool_scales: Sequence[int] = (1, 3, 6, 8),
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        low, high = self.in_channels
        self.fusion = Fusion(low, high, project_channels, high, key_pool_scales, shared=False, activated=False)
        self.bottleneck = ConvModule(high, channels, 3)
        self.context = Fusion(
            channels, channels, project_channels, channels, key_pool_scales, shared=True, activated=True
        )

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.bottleneck(self.dropout(self.fusion(*self.selected(features))))
        return self.classified(self.context(x, x))
