"""FastFCN's joint pyramid upsampling.

Source: Wu et al., FastFCN: Rethinking Dilated Convolution in the Backbone for Semantic Segmentation, 2019; parameter
names as in mmseg.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule, DepthwiseSeparableConvModule
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


@MODELS.register_module()
class JPU(nn.Module):
    """The maps, the last of them replaced by what all of them say at the size of the first.

    That one has `mid_channels` for each of `dilations`.
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        mid_channels: int = 512,
        dilations: Sequence[int] = (1, 2, 4, 8),
        *,
        align_corners: bool = False,
    ) -> None:
        super().__init__()
        self.align_corners = align_corners
        self.conv_layers = nn.ModuleList(
            nn.Sequential(ConvModule(channels, mid_channels, 3)) for channels in in_channels
        )
        joined = len(in_channels) * mid_channels
        self.dilation_layers = nn.ModuleList(
            nn.Sequential(
                DepthwiseSeparableConvModule(joined, mid_channels, 3, dilation=dilation, depthwise_activated=False)
            )
            for dilation in dilations
        )

    def forward(self, features: Sequence[Tensor]) -> list[Tensor]:
        first, *others = [conv(x) for conv, x in zip(self.conv_layers, features, strict=True)]
        resized = [resize(x, first.shape[2:], self.align_corners) for x in others]
        joined = torch.cat([first, *resized], dim=1)
        return [*features[:-1], torch.cat([layer(joined) for layer in self.dilation_layers], dim=1)]
