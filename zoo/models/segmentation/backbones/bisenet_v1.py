"""BiSeNetV1: a path for details and a deep one for context.

Source: Yu et al., BiSeNet: Bilateral Segmentation Network for Real-time Semantic Segmentation, ECCV 2018; parameter
names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.registry import MODELS


class SpatialPath(nn.Sequential):
    """images [N, 3, H, W] -> [N, C, H/8, W/8]; `channels` of its four layers."""

    def __init__(self, channels: Sequence[int]) -> None:
        super().__init__()
        shapes = ((7, 2), (3, 2), (3, 2), (1, 1))  # kernel, stride
        before = 3
        for index, (width, (kernel, stride)) in enumerate(zip(channels, shapes, strict=True), 1):
            self.add_module(f"layer{index}", ConvModule(before, width, kernel, stride))
            before = width


class AttentionRefinement(nn.Module):
    """[N, C_in, h, w] -> [N, C, h, w], convolved, and each channel scaled by what the means of all say."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.conv_layer = ConvModule(in_channels, channels, 3)
        self.atten_conv_layer = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), ConvModule(channels, channels, 1, activation=None), nn.Sigmoid()
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv_layer(x)
        out: Tensor = x * self.atten_conv_layer(x)
        return out


class ContextPath(nn.Module):
    """images [N, 3, H, W] -> two maps, at 1/8 and 1/16 of the image. `channels`: of the backbone's last three maps."""

    def __init__(self, backbone: dict[str, Any], channels: Sequence[int]) -> None:
        super().__init__()
        out, middle, last = channels
        self.backbone = MODELS.build(backbone)
        self.arm16 = AttentionRefinement(middle, out)
        self.arm32 = AttentionRefinement(last, out)
        self.conv_head32 = ConvModule(out, out, 3)
        self.conv_head16 = ConvModule(out, out, 3)
        self.gap_conv = nn.Sequential(nn.AdaptiveAvgPool2d(1), ConvModule(last, out, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        _, fine, middle, coarse = self.backbone(x)
        x = F.interpolate(self.arm32(coarse) + self.gap_conv(coarse), middle.shape[2:])
        context16 = self.conv_head32(x)
        x = F.interpolate(self.arm16(middle) + context16, fine.shape[2:])
        return self.conv_head16(x), context16


class FeatureFusion(nn.Module):
    """Two maps of one size -> [N, channels, h, w]."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.conv1 = ConvModule(in_channels, channels, 1)
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.conv_atten = nn.Sequential(ConvModule(channels, channels, 1), nn.Sigmoid())

    def forward(self, spatial: Tensor, context: Tensor) -> Tensor:
        x = self.conv1(torch.cat([spatial, context], dim=1))
        out: Tensor = x * self.conv_atten(self.gap(x)) + x
        return out


@MODELS.register_module()
class BiSeNetV1(nn.Module):
    """images [N, 3, H, W] -> three maps: both paths together, of `out_channels`, and the context at 1/8 and 1/16.

    `backbone`: of the context path, whose last three maps have `context_channels`. `spatial_channels`: of the four
    layers of the other one, which must end with those of the context: the paths have `context_channels[1]` together.
    """

    def __init__(
        self,
        backbone: dict[str, Any],
        spatial_channels: Sequence[int] = (64, 64, 64, 128),
        context_channels: Sequence[int] = (128, 256, 512),
        out_channels: int = 256,
    ) -> None:
        super().__init__()
        self.context_path = ContextPath(backbone, context_channels)
        self.spatial_path = SpatialPath(spatial_channels)
        self.ffm = FeatureFusion(context_channels[1], out_channels)

    def forward(self, x: Tensor) -> list[Tensor]:
        context8, context16 = self.context_path(x)
        return [self.ffm(self.spatial_path(x), context8), context8, context16]
