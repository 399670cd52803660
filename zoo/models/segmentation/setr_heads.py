"""The decode heads of SETR.

Source: Zheng et al., Rethinking Semantic Segmentation from a Sequence-to-Sequence Perspective with Transformers, CVPR
2021; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.backbones.convnext import LayerNorm2d
from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.models.segmentation.resize import Enlarged
from zoo.registry import MODELS


@MODELS.register_module()
class SETRUPHead(DecodeHead):
    """One map, normalised, then convolved and enlarged by `up_scale` `num_convs` times.

    `norm_eps`: of the norm of the map. `options` as DecodeHead takes them.
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        num_classes: int,
        num_convs: int = 1,
        up_scale: int = 4,
        kernel_size: int = 3,
        norm_eps: float = 1e-6,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        self.norm = LayerNorm2d(in_channels, norm_eps)
        self.up_convs = nn.Sequential(
            *(
                nn.Sequential(
                    ConvModule(channels if index else in_channels, channels, kernel_size),
                    Enlarged(up_scale, align_corners=self.align_corners),
                )
                for index in range(num_convs)
            )
        )

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        return self.classified(self.up_convs(self.norm(self.joined(features))))


@MODELS.register_module()
class SETRMLAHead(DecodeHead):
    """Several maps, each convolved to `mla_channels` and enlarged by `up_scale`. `options` as DecodeHead takes them."""

    def __init__(
        self,
        in_channels: Sequence[int],
        channels: int,
        num_classes: int,
        mla_channels: int = 128,
        up_scale: int = 4,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        self.up_convs = nn.ModuleList(
            nn.Sequential(
                ConvModule(width, mla_channels, 3),
                ConvModule(mla_channels, mla_channels, 3),
                Enlarged(up_scale, align_corners=self.align_corners),
            )
            for width in self.in_channels
        )

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        maps = [conv(x) for conv, x in zip(self.up_convs, self.selected(features), strict=True)]
        return self.classified(torch.cat(maps, dim=1))
