"""MobileNetV3 as a backbone, dilated for segmentation.

Source: Howard et al., Searching for MobileNetV3, ICCV 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from torch import Tensor, nn

from zoo.models.segmentation.backbones.same_padding import SamePaddingConv2d
from zoo.models.segmentation.conv_module import RELU, ConvModule, Layer, Norm
from zoo.registry import MODELS

STEM_CHANNELS = 16
HSWISH: Layer = partial(nn.Hardswish, inplace=True)


class Block(NamedTuple):
    """One inverted residual: kernel size, channels inside and after it, squeeze-and-excitation, Hardswish, stride."""

    kernel: int
    hidden: int
    out: int
    squeezes: bool
    hardswish: bool
    stride: int = 1
    dilation: int = 1


# The stages that would lie at 1/16 and 1/32 of the image stay at 1/8, dilated by 2 and 4.
SMALL = (
    Block(3, 16, 16, True, False, 2), Block(3, 72, 24, False, False, 2), Block(3, 88, 24, False, False),
    Block(5, 96, 40, True, True, 1, 2), Block(5, 240, 40, True, True, 1, 2), Block(5, 240, 40, True, True, 1, 2),
    Block(5, 120, 48, True, True, 1, 2), Block(5, 144, 48, True, True, 1, 2), Block(5, 288, 96, True, True, 1, 4),
    Block(5, 576, 96, True, True, 1, 4), Block(5, 576, 96, True, True, 1, 4),
)  # fmt: skip
LARGE = (
    Block(3, 16, 16, False, False), Block(3, 64, 24, False, False, 2), Block(3, 72, 24, False, False),
    Block(5, 72, 40, True, False, 2), Block(5, 120, 40, True, False), Block(5, 120, 40, True, False),
    Block(3, 240, 80, False, True, 1, 2), Block(3, 200, 80, False, True, 1, 2), Block(3, 184, 80, False, True, 1, 2),
    Block(3, 184, 80, False, True, 1, 2), Block(3, 480, 112, True, True, 1, 2), Block(3, 672, 112, True, True, 1, 2),
    Block(5, 672, 160, True, True, 1, 4), Block(5, 960, 160, True, True, 1, 4), Block(5, 960, 160, True, True, 1, 4),
)  # fmt: skip
ARCHITECTURES = {"small": (SMALL, 576), "large": (LARGE, 960)}


class SqueezeExcitation(nn.Module):
    """[N, C, H, W] scaled by what two layers make of the channels' means."""

    def __init__(self, channels: int, ratio: int = 4) -> None:
        super().__init__()
        squeezed = multiple_of_8(channels // ratio)
        self.global_avgpool = nn.AdaptiveAvgPool2d(1)
        self.conv1 = ConvModule(channels, squeezed, 1, norm=None)
        self.conv2 = ConvModule(squeezed, channels, 1, norm=None, activation=nn.Hardsigmoid)

    def forward(self, x: Tensor) -> Tensor:
        scale: Tensor = self.conv2(self.conv1(self.global_avgpool(x)))
        return x * scale


class InvertedResidual(nn.Module):
    """1x1, depthwise and 1x1 convolutions, around a shortcut where the shape stays."""

    def __init__(self, in_channels: int, block: Block, norm: Norm) -> None:
        super().__init__()
        hidden, activation = block.hidden, HSWISH if block.hardswish else RELU
        self.has_shortcut = block.stride == 1 and in_channels == block.out
        self.expand_conv = (
            ConvModule(in_channels, hidden, 1, norm=norm, activation=activation) if in_channels != hidden else None
        )
        self.depthwise_conv = ConvModule(
            hidden,
            hidden,
            block.kernel,
            block.stride,
            block.dilation,
            hidden,
            norm=norm,
            activation=activation,
            conv=SamePaddingConv2d if block.stride > 1 else nn.Conv2d,
        )
        self.se = SqueezeExcitation(hidden) if block.squeezes else None
        self.linear_conv = ConvModule(hidden, block.out, 1, norm=norm, activation=None)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x if self.expand_conv is None else self.expand_conv(x)
        out = self.depthwise_conv(out)
        if self.se is not None:
            out = self.se(out)
        out = self.linear_conv(out)
        return x + out if self.has_shortcut else out


@MODELS.register_module()
class MobileNetV3(nn.Module):
    """images [N, 3, H, W] -> the outputs of the layers `out_indices`.

    `arch`: "small" (12 layers after the first) or "large" (16). Layer 0 is the stem, the last one a 1x1 convolution.
    Large gives 1/2, 1/4 and 1/8 of the image by (1, 3, 16), small 1/4, 1/8 and 1/8 by (1, 3, 12). `norm_eps`: of the
    batch norms, as in mmseg's configs. Raises ValueError for an unknown `arch`.
    """

    def __init__(self, arch: str = "large", out_indices: Sequence[int] = (1, 3, 16), norm_eps: float = 1e-3) -> None:
        super().__init__()
        if arch not in ARCHITECTURES:
            raise ValueError(f'MobileNetV3 "{arch}"; expected {" or ".join(ARCHITECTURES)}')
        blocks, last = ARCHITECTURES[arch]
        norm = partial(nn.BatchNorm2d, eps=norm_eps)
        self.out_indices = tuple(out_indices)
        self.depth = len(blocks) + 2
        self.layer0 = ConvModule(3, STEM_CHANNELS, 3, 2, norm=norm, activation=HSWISH, conv=SamePaddingConv2d)
        channels = STEM_CHANNELS
        for index, block in enumerate(blocks, 1):
            self.add_module(f"layer{index}", InvertedResidual(channels, block, norm))
            channels = block.out
        self.add_module(f"layer{len(blocks) + 1}", ConvModule(channels, last, 1, norm=norm, activation=HSWISH))

    def forward(self, x: Tensor) -> list[Tensor]:
        features = []
        for index in range(self.depth):
            x = self.get_submodule(f"layer{index}")(x)
            if index in self.out_indices:
                features.append(x)
        return features


def multiple_of_8(channels: int) -> int:
    """The nearest multiple of 8, at least 8, that is not more than 10 % below."""
    rounded = max(8, (channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded
