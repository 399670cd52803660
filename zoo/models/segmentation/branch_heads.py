"""The decode heads of DDRNet and PIDNet.

Source: Pan et al., Deep Dual-Resolution Networks for Real-Time and Accurate Semantic Segmentation of Traffic Scenes,
T-ITS 2022, and Xu et al., PIDNet, CVPR 2023; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.backbones.branch_blocks import NormFirst
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


@MODELS.register_module()
class DDRHead(DecodeHead):
    """A convolution over one map. mmseg trains the details with layers of their own, which inference never runs.

    `options` as DecodeHead takes them.
    """

    trained_only: ClassVar[tuple[str, ...]] = ("aux_head", "aux_cls_seg")

    def __init__(self, in_channels: int, channels: int, num_classes: int, **options: Any) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        self.head = nn.Sequential(NormFirst(in_channels, channels, 3), nn.BatchNorm2d(channels), nn.ReLU(inplace=True))

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        return self.classified(self.head(self.joined(features)))


class Convolution(nn.Module):
    """[N, C_in, h, w] -> [N, channels, h, w]: norm and activation before the convolution and after it."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.conv = NormFirst(in_channels, channels, 3)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.conv(x)))


@MODELS.register_module()
class PIDHead(DecodeHead):
    """A convolution over one map. mmseg trains details and edges with layers of their own, which inference never runs.

    `options` as DecodeHead takes them.
    """

    trained_only: ClassVar[tuple[str, ...]] = ("p_head", "d_head", "p_cls_seg", "d_cls_seg")

    def __init__(self, in_channels: int, channels: int, num_classes: int, **options: Any) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        self.i_head = Convolution(in_channels, channels)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        return self.classified(self.i_head(self.joined(features)))
