"""The decode head of a fully convolutional network.

Source: Long et al., Fully Convolutional Networks for Semantic Segmentation, CVPR 2015; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


@MODELS.register_module()
class FCNHead(DecodeHead):
    """Convolutions over one map, or over several as one.

    `concat_input`: the input is concatenated to the result of the convolutions and joined by another one (mmseg's
    default; here it is off). `options` as DecodeHead takes them.
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        in_index: int | Sequence[int],
        channels: int,
        num_classes: int,
        num_convs: int = 2,
        kernel_size: int = 3,
        dilation: int = 1,
        *,
        concat_input: bool = False,
        **options: Any,
    ) -> None:
        total = in_channels if isinstance(in_channels, int) else sum(in_channels)
        convs = nn.Sequential(  # made before the last layer: the shipped recipe starts from the same random weights
            *(ConvModule(channels if i else total, channels, kernel_size, dilation=dilation) for i in range(num_convs))
        )
        super().__init__(in_channels, channels, num_classes, in_index, **options)
        self.convs = convs
        self.conv_cat: nn.Module | None = None
        if concat_input:
            self.conv_cat = ConvModule(total + channels, channels, kernel_size)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.joined(features)
        out = self.convolved(x)
        if self.conv_cat is not None:
            out = self.conv_cat(torch.cat([x, out], dim=1))
        return self.classified(out)

    def convolved(self, x: Tensor) -> Tensor:
        """[N, in_channels, h, w] -> [N, channels, h, w], by all convolutions but the last."""
        out: Tensor = self.convs(x)
        return out
