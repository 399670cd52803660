"""ICNet: three branches that see the image at three sizes.

Source: Zhao et al., ICNet for Real-Time Semantic Segmentation on High-Resolution Images, ECCV 2018; parameter names as
in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.psp_head import PyramidPooling
from zoo.registry import MODELS


@MODELS.register_module()
class ICNet(nn.Module):
    """images [N, 3, H, W] -> three maps of `out_channels`, at 1/8, 1/16 and 1/32 of the image.

    `backbone`: a ResNet with a deep stem, whose second and last stages have `layer_channels`.
    `light_branch_middle_channels`: of the branch that sees the whole image. `psp_out_channels`, `pool_scales`: of the
    pyramid pooling over the coarsest map.
    """

    def __init__(
        self,
        backbone: dict[str, Any],
        layer_channels: Sequence[int] = (512, 2048),
        light_branch_middle_channels: int = 32,
        psp_out_channels: int = 512,
        out_channels: Sequence[int] = (64, 256, 256),
        pool_scales: Sequence[int] = (1, 2, 3, 6),
        *,
        align_corners: bool = False,
    ) -> None:
        super().__init__()
        self.align_corners = align_corners
        (middle, coarse), light, pooled = layer_channels, light_branch_middle_channels, psp_out_channels
        self.backbone: Any = MODELS.build(backbone)
        self.backbone.maxpool = nn.MaxPool2d(3, 2, 1, ceil_mode=True)
        self.psp_modules = PyramidPooling(pool_scales, coarse, pooled, align_corners=align_corners)
        self.psp_bottleneck = ConvModule(coarse + len(pool_scales) * pooled, pooled, 3)
        self.conv_sub1 = nn.Sequential(
            ConvModule(3, light, 3, 2), ConvModule(light, light, 3, 2), ConvModule(light, out_channels[0], 3, 2)
        )
        self.conv_sub2 = ConvModule(middle, out_channels[1], 1)
        self.conv_sub4 = ConvModule(pooled, out_channels[2], 1)

    def forward(self, x: Tensor) -> list[Tensor]:
        fine = self.conv_sub1(x)
        x = self.backbone.maxpool(self.backbone.stem(self.halved(x)))
        x = self.backbone.layer2(self.backbone.layer1(x))
        middle = self.conv_sub2(x)
        x = self.backbone.layer4(self.backbone.layer3(self.halved(x)))
        x = self.psp_bottleneck(torch.cat([*self.psp_modules(x), x], dim=1))
        return [fine, middle, self.conv_sub4(x)]

    def halved(self, x: Tensor) -> Tensor:
        """[N, C, h, w] -> [N, C, h // 2, w // 2], bilinear."""
        return F.interpolate(x, scale_factor=0.5, mode="bilinear", align_corners=self.align_corners)
