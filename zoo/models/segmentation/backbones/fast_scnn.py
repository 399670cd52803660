"""Fast-SCNN.

Source: Poudel et al., Fast-SCNN: Fast Semantic Segmentation Network, BMVC 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.backbones.mobilenet_v2 import InvertedResidual
from zoo.models.segmentation.conv_module import ConvModule, DepthwiseSeparableConvModule
from zoo.models.segmentation.psp_head import PyramidPooling
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS

BLOCKS, EXPANSION = 3, 6
POOL_SCALES = (1, 2, 3, 6)


class LearningToDownsample(nn.Module):
    """images [N, 3, H, W] -> [N, channels, H/8, W/8]."""

    def __init__(self, inner: Sequence[int], channels: int) -> None:
        super().__init__()
        first, second = inner
        self.conv = ConvModule(3, first, 3, 2)
        self.dsconv1 = DepthwiseSeparableConvModule(first, second, 3, 2, depthwise_activated=False)
        self.dsconv2 = DepthwiseSeparableConvModule(second, channels, 3, 2, depthwise_activated=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.dsconv2(self.dsconv1(self.conv(x)))
        return out


class GlobalFeatures(nn.Module):
    """[N, C_in, h, w] -> [N, channels, ...], smaller by the product of `strides`: blocks and pyramid pooling."""

    def __init__(
        self, in_channels: int, inner: Sequence[int], strides: Sequence[int], channels: int, *, align_corners: bool
    ) -> None:
        super().__init__()
        before, self.depth = in_channels, len(inner)
        for number, (width, stride) in enumerate(zip(inner, strides, strict=True), 1):
            shapes = [(before, stride), *([(width, 1)] * (BLOCKS - 1))]
            blocks = (InvertedResidual(wide, width, step, EXPANSION) for wide, step in shapes)
            self.add_module(f"bottleneck{number}", nn.Sequential(*blocks))
            before = width
        self.ppm = PyramidPooling(POOL_SCALES, before, before // len(POOL_SCALES), align_corners=align_corners)
        self.out = ConvModule(2 * before, channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        for number in range(1, self.depth + 1):
            x = self.get_submodule(f"bottleneck{number}")(x)
        out: Tensor = self.out(torch.cat([x, *self.ppm(x)], dim=1))
        return out


class FeatureFusion(nn.Module):
    """A fine map and a coarse one -> [N, channels, h, w], of the fine one's size."""

    def __init__(self, fine: int, coarse: int, channels: int, *, align_corners: bool) -> None:
        super().__init__()
        self.align_corners = align_corners
        self.dwconv = ConvModule(coarse, channels, 3, groups=channels)
        self.conv_lower_res = ConvModule(channels, channels, 1, activation=None)
        self.conv_higher_res = ConvModule(fine, channels, 1, activation=None)

    def forward(self, fine: Tensor, coarse: Tensor) -> Tensor:
        coarse = self.dwconv(resize(coarse, fine.shape[2:], self.align_corners))
        return F.relu(self.conv_higher_res(fine) + self.conv_lower_res(coarse))


@MODELS.register_module()
class FastSCNN(nn.Module):
    """images [N, 3, H, W] -> three maps: fine, coarse, and both together, of `fusion_out_channels`.

    `downsample_dw_channels`: of the first two layers. `global_in_channels`: of the fine map. `global_block_channels`,
    `global_block_strides`: of the blocks between it and the coarse one, of `global_out_channels`.
    """

    def __init__(
        self,
        downsample_dw_channels: Sequence[int] = (32, 48),
        global_in_channels: int = 64,
        global_block_channels: Sequence[int] = (64, 96, 128),
        global_block_strides: Sequence[int] = (2, 2, 1),
        global_out_channels: int = 128,
        fusion_out_channels: int = 128,
        *,
        align_corners: bool = False,
    ) -> None:
        super().__init__()
        self.learning_to_downsample = LearningToDownsample(downsample_dw_channels, global_in_channels)
        self.global_feature_extractor = GlobalFeatures(
            global_in_channels,
            global_block_channels,
            global_block_strides,
            global_out_channels,
            align_corners=align_corners,
        )
        self.feature_fusion = FeatureFusion(
            global_in_channels, global_out_channels, fusion_out_channels, align_corners=align_corners
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        fine = self.learning_to_downsample(x)
        coarse = self.global_feature_extractor(fine)
        return [fine, coarse, self.feature_fusion(fine, coarse)]
