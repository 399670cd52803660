"""U-Net as a backbone: its encoder and its decoder.

Source: Ronneberger et al., U-Net: Convolutional Networks for Biomedical Image Segmentation, MICCAI 2015; parameter
names as in mmseg.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.resize import Enlarged
from zoo.registry import MODELS


class ConvBlock(nn.Module):
    """3x3 convolutions, of which the first has the stride and the others are dilated."""

    def __init__(self, in_channels: int, channels: int, count: int, stride: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            ConvModule(in_channels, channels, 3, stride),
            *(ConvModule(channels, channels, 3, dilation=dilation) for _ in range(count - 1)),
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.convs(x)
        return out


class UpSample(nn.Module):
    """[N, C_in, h, w] -> [N, C, 2 h, 2 w]: resized, then convolved."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.interp_upsample = nn.Sequential(Enlarged(2), ConvModule(in_channels, channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.interp_upsample(x)
        return out


class UpBlock(nn.Module):
    """A map of the encoder and the coarser one of the decoder -> [N, channels, h, w], of the first one's size.

    `enlarges`: whether the coarser one has half the size.
    """

    def __init__(self, channels: int, count: int, dilation: int, *, enlarges: bool) -> None:
        super().__init__()
        self.conv_block = ConvBlock(2 * channels, channels, count, dilation=dilation)
        self.upsample = UpSample(2 * channels, channels) if enlarges else ConvModule(2 * channels, channels, 1)

    def forward(self, skip: Tensor, x: Tensor) -> Tensor:
        out: Tensor = self.conv_block(torch.cat([skip, self.upsample(x)], dim=1))
        return out


@MODELS.register_module()
class UNet(nn.Module):
    """images [N, 3, H, W] -> a map of each stage, the coarsest first, the last of `base_channels` and H x W.

    `strides` and `enc_num_convs`, `enc_dilations` are of the encoder's stages, `downsamples` (a maximum of 2 x 2 before
    all but the first), `dec_num_convs` and `dec_dilations` of the stages but one. H and W must be multiples of 2 for
    each stage that makes the map smaller, together `size_divisor`.
    """

    def __init__(
        self,
        base_channels: int = 64,
        strides: Sequence[int] = (1, 1, 1, 1, 1),
        enc_num_convs: Sequence[int] = (2, 2, 2, 2, 2),
        dec_num_convs: Sequence[int] = (2, 2, 2, 2),
        downsamples: Sequence[bool] = (True, True, True, True),
        enc_dilations: Sequence[int] = (1, 1, 1, 1, 1),
        dec_dilations: Sequence[int] = (1, 1, 1, 1),
    ) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        in_channels, self.size_divisor = 3, 1
        for stage, stride in enumerate(strides):
            channels = base_channels * 2**stage
            layers: list[nn.Module] = []
            if stage:
                halves, finer = downsamples[stage - 1], channels // 2
                if halves and stride == 1:
                    layers.append(nn.MaxPool2d(2))
                enlarges = halves or stride != 1
                self.size_divisor *= 2 if enlarges else 1
                self.decoder.append(
                    UpBlock(finer, dec_num_convs[stage - 1], dec_dilations[stage - 1], enlarges=enlarges)
                )
            layers.append(ConvBlock(in_channels, channels, enc_num_convs[stage], stride, enc_dilations[stage]))
            self.encoder.append(nn.Sequential(*layers))
            in_channels = channels

    def forward(self, x: Tensor) -> list[Tensor]:
        skips = []
        for stage in self.encoder:
            x = stage(x)
            skips.append(x)
        maps = [skips.pop()]
        for block in reversed(self.decoder):
            maps.append(block(skips.pop(), maps[-1]))
        return maps
