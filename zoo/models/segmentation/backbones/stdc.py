"""STDCNet, and the context path around it.

Source: Fan et al., Rethinking BiSeNet For Real-time Semantic Segmentation, CVPR 2021; parameter names as in mmseg.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.backbones.bisenet_v1 import AttentionRefinement
from zoo.models.segmentation.conv_module import ConvModule
from zoo.registry import MODELS

STRIDES = {
    "STDCNet1": ((2, 1), (2, 1), (2, 1)),
    "STDCNet2": ((2, 1, 1, 1), (2, 1, 1, 1, 1), (2, 1, 1)),
}
"""Of the blocks of each stage."""


class Block(nn.Module):
    """[N, C_in, h, w] -> [N, C, h/stride, w/stride]: `count` convolutions one after another, concatenated.

    Each has half of the channels of the one before it, but for the last.
    """

    def __init__(self, in_channels: int, channels: int, stride: int, count: int) -> None:
        super().__init__()
        widths = [channels // 2 ** (index + 1) for index in range(count - 1)]
        widths.append(widths[-1])
        self.layers = nn.ModuleList([ConvModule(in_channels, widths[0], 1)])
        self.layers.extend(ConvModule(i, o, 3) for i, o in pairwise(widths))
        first = widths[0]
        self.downsample = ConvModule(first, first, 3, 2, groups=first, activation=None) if stride > 1 else None
        self.skip = nn.AvgPool2d(3, stride, 1) if stride > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        first, *others = self.layers
        x = first(x)
        outputs = [x if self.skip is None else self.skip(x)]
        if self.downsample is not None:
            x = self.downsample(x)
        for layer in others:
            x = layer(x)
            outputs.append(x)
        return torch.cat(outputs, dim=1)


@MODELS.register_module()
class STDCNet(nn.Module):
    """images [N, 3, H, W] -> three maps, at 1/8, 1/16 and 1/32 of the image, of the last three of `channels`.

    `stdc_type`: "STDCNet1" or "STDCNet2". `num_convs`: of a block. `with_final_conv`: one more convolution after the
    last map, to 1024 channels at least. Raises ValueError for an unknown type.
    """

    def __init__(
        self,
        stdc_type: str = "STDCNet1",
        channels: Sequence[int] = (32, 64, 256, 512, 1024),
        num_convs: int = 4,
        *,
        with_final_conv: bool = False,
    ) -> None:
        super().__init__()
        if stdc_type not in STRIDES:
            raise ValueError(f'STDCNet "{stdc_type}"; expected {" or ".join(STRIDES)}')
        self.stages = nn.ModuleList([ConvModule(3, channels[0], 3, 2), ConvModule(channels[0], channels[1], 3, 2)])
        self.shallow = len(self.stages)
        for before, after, strides in zip(channels[1:], channels[2:], STRIDES[stdc_type], strict=False):
            blocks = (
                Block(after if index else before, after, stride, num_convs) for index, stride in enumerate(strides)
            )
            self.stages.append(nn.Sequential(*blocks))
        last = channels[-1]
        self.final_conv = ConvModule(last, max(1024, last), 1) if with_final_conv else None

    def forward(self, x: Tensor) -> list[Tensor]:
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        if self.final_conv is not None:
            maps[-1] = self.final_conv(x)
        return maps[self.shallow :]


class FeatureFusion(nn.Module):
    """Two maps of one size -> [N, channels, h, w]. `factor`: how many times fewer channels there are inside."""

    def __init__(self, in_channels: int, channels: int, factor: int) -> None:
        super().__init__()
        inner = channels // factor
        self.conv0 = ConvModule(in_channels, channels, 1)
        self.attention = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            ConvModule(channels, inner, 1, norm=None, bias=False),
            ConvModule(inner, channels, 1, norm=None, activation=None, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, spatial: Tensor, context: Tensor) -> Tensor:
        x = self.conv0(torch.cat([spatial, context], dim=1))
        out: Tensor = x * self.attention(x) + x
        return out


@MODELS.register_module()
class STDCContextPathNet(nn.Module):
    """images [N, 3, H, W] -> four maps: the backbone's first, the context at 1/16 and 1/8, and both at 1/8 together.

    `backbone`: of three maps, the last two of `last_in_channels`, the last one first. `out_channels`: of the context.
    `fusion_in_channels`, `fusion_out_channels`, `fusion_factor`: of what joins the two.
    """

    def __init__(
        self,
        backbone: dict[str, Any],
        last_in_channels: Sequence[int] = (1024, 512),
        out_channels: int = 128,
        fusion_in_channels: int = 512,
        fusion_out_channels: int = 256,
        fusion_factor: int = 4,
    ) -> None:
        super().__init__()
        self.backbone = MODELS.build(backbone)
        self.arms = nn.ModuleList(AttentionRefinement(width, out_channels) for width in last_in_channels)
        self.convs = nn.ModuleList(ConvModule(out_channels, out_channels, 3) for _ in last_in_channels)
        self.conv_avg = ConvModule(last_in_channels[0], out_channels, 1)
        self.ffm = FeatureFusion(fusion_in_channels, fusion_out_channels, fusion_factor)

    def forward(self, x: Tensor) -> list[Tensor]:
        fine, middle, coarse = self.backbone(x)
        context = self.conv_avg(coarse.mean(dim=(2, 3), keepdim=True))
        contexts = []
        for arm, conv, own, finer in zip(self.arms, self.convs, (coarse, middle), (middle, fine), strict=True):
            context = conv(F.interpolate(arm(own) + context, finer.shape[2:]))
            contexts.append(context)
        return [fine, *contexts, self.ffm(fine, context)]
