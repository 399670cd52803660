"""The decode head of Fast-SCNN: an FCN head of depthwise separable convolutions.

Source: Poudel et al., Fast-SCNN: Fast Semantic Segmentation Network, BMVC 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

from torch import nn

from zoo.models.segmentation.conv_module import DepthwiseSeparableConvModule
from zoo.models.segmentation.fcn_head import FCNHead
from zoo.registry import MODELS


@MODELS.register_module()
class DepthwiseSeparableFCNHead(FCNHead):
    """As FCNHead, with its arguments."""

    def __init__(
        self,
        in_channels: int | Sequence[int],
        in_index: int | Sequence[int],
        channels: int,
        num_classes: int,
        num_convs: int = 2,
        kernel_size: int = 3,
        *,
        concat_input: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(
            in_channels, in_index, channels, num_classes, num_convs, kernel_size, concat_input=concat_input, **options
        )
        total = sum(self.in_channels)
        self.convs = nn.Sequential(
            *(_separable(channels if index else total, channels, kernel_size) for index in range(num_convs))
        )
        self.conv_cat = _separable(total + channels, channels, kernel_size) if concat_input else None


def _separable(in_channels: int, out_channels: int, kernel_size: int) -> DepthwiseSeparableConvModule:
    return DepthwiseSeparableConvModule(in_channels, out_channels, kernel_size, depthwise_activated=False)
