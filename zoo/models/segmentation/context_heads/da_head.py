"""The decode head of DANet.

Source: Fu et al., Dual Attention Network for Scene Segmentation, CVPR 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from zoo.models.segmentation.context_heads.self_attention import Scale, SelfAttention
from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


class PositionAttention(SelfAttention):
    """[N, C, h, w] -> the same, with what similar places say. `inner`: the channels in which they are compared."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__(channels, channels, inner, channels, scaled=False)
        self.gamma = Scale()

    def forward(self, x: Tensor, keys: Tensor | None = None) -> Tensor:
        out: Tensor = self.gamma(super().forward(x, x if keys is None else keys)) + x
        return out


class ChannelAttention(nn.Module):
    """[N, C, h, w] -> the same, with what channels say that are unlike."""

    def __init__(self) -> None:
        super().__init__()
        self.gamma = Scale()

    def forward(self, x: Tensor) -> Tensor:
        channels = x.flatten(2)
        likeness = channels @ channels.transpose(1, 2)  # [N, C, C]
        weights = torch.softmax(likeness.amax(dim=-1, keepdim=True) - likeness, dim=-1)
        out: Tensor = self.gamma((weights @ channels).reshape(x.shape)) + x
        return out


@MODELS.register_module()
class DAHead(DecodeHead):
    """The sum of what attention of places and attention of channels make of a map.

    `pam_channels`: in which places are compared. mmseg trains each of the two with a layer of its own, which inference
    never runs. `options` as DecodeHead takes them.
    """

    trained_only: ClassVar[tuple[str, ...]] = ("pam_conv_seg", "cam_conv_seg")

    def __init__(
        self, in_channels: int | Sequence[int], channels: int, num_classes: int, pam_channels: int, **options: Any
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        total = sum(self.in_channels)
        self.pam_in_conv = ConvModule(total, channels, 3)
        self.pam = PositionAttention(channels, pam_channels)
        self.pam_out_conv = ConvModule(channels, channels, 3)
        self.cam_in_conv = ConvModule(total, channels, 3)
        self.cam = ChannelAttention()
        self.cam_out_conv = ConvModule(channels, channels, 3)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.joined(features)
        places = self.pam_out_conv(self.pam(self.pam_in_conv(x)))
        channels = self.cam_out_conv(self.cam(self.cam_in_conv(x)))
        return self.classified(places + channels)
