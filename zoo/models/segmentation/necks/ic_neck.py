"""What joins ICNet's three branches.

Source: Zhao et al., ICNet for Real-Time Semantic Segmentation on High-Resolution Images, ECCV 2018; parameter names as
in mmseg.
"""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


class CascadeFeatureFusion(nn.Module):
    """A coarse map and a fine one -> their sum at the fine one's size, and the coarse one alone at it."""

    def __init__(self, low_channels: int, high_channels: int, channels: int, *, align_corners: bool) -> None:
        super().__init__()
        self.align_corners = align_corners
        self.conv_low = ConvModule(low_channels, channels, 3, dilation=2)
        self.conv_high = ConvModule(high_channels, channels, 1)

    def forward(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        low = self.conv_low(resize(low, high.shape[2:], self.align_corners))
        return F.relu(low + self.conv_high(high)), low


@MODELS.register_module()
class ICNeck(nn.Module):
    """Maps of three branches, the finest first -> three of `out_channels`, of which the last one joins all branches."""

    def __init__(self, in_channels: Sequence[int], out_channels: int = 128, *, align_corners: bool = False) -> None:
        super().__init__()
        fine, middle, coarse = in_channels
        self.cff_24 = CascadeFeatureFusion(coarse, middle, out_channels, align_corners=align_corners)
        self.cff_12 = CascadeFeatureFusion(out_channels, fine, out_channels, align_corners=align_corners)

    def forward(self, features: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        fine, middle, coarse = features
        joined, coarse = self.cff_24(coarse, middle)
        out, joined = self.cff_12(joined, fine)
        return coarse, joined, out
