"""ERFNet.

Source: Romera et al., ERFNet: Efficient Residual Factorized ConvNet for Real-Time Semantic Segmentation, T-ITS 2018;
parameter names as in mmseg.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS

NORM_EPS = 1e-3


class DownsamplerBlock(nn.Module):
    """[N, C_in, h, w] -> [N, C, h/2, w/2]: a convolution beside a maximum."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, channels - in_channels, 3, 2, 1)
        self.pool = nn.MaxPool2d(2, 2)
        self.bn = nn.BatchNorm2d(channels, NORM_EPS)

    def forward(self, x: Tensor) -> Tensor:
        convolved = self.conv(x)
        pooled = resize(self.pool(x), convolved.shape[2:])  # an odd side is cut off by the maximum
        return F.relu(self.bn(torch.cat([convolved, pooled], dim=1)))


class NonBottleneck1d(nn.Module):
    """Two pairs of 3x1 and 1x3 convolutions around a shortcut; the second pair is dilated."""

    def __init__(self, channels: int, drop_rate: float = 0.0, dilation: int = 1) -> None:
        super().__init__()
        first = [*_pair(channels, 1), nn.BatchNorm2d(channels, NORM_EPS), nn.ReLU(inplace=True)]
        second = [*_pair(channels, dilation), nn.BatchNorm2d(channels, NORM_EPS), nn.Dropout(drop_rate)]
        self.convs_layers = nn.Sequential(*first, *second)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.convs_layers(x) + x)


def _pair(channels: int, dilation: int) -> tuple[nn.Module, ...]:
    down = nn.Conv2d(channels, channels, (3, 1), padding=(dilation, 0), dilation=(dilation, 1))
    across = nn.Conv2d(channels, channels, (1, 3), padding=(0, dilation), dilation=(1, dilation))
    return down, nn.ReLU(inplace=True), across


class UpsamplerBlock(nn.Module):
    """[N, C_in, h, w] -> [N, C, 2 h, 2 w]."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, channels, 3, 2, 1, 1)
        self.bn = nn.BatchNorm2d(channels, NORM_EPS)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)))


@MODELS.register_module()
class ERFNet(nn.Module):
    """images [N, 3, H, W] -> one map, at 1/2 of the image.

    `enc_downsample_channels`: of the encoder's stages. `enc_stage_non_bottlenecks`: blocks of all but the first, those
    of the last with `enc_non_bottleneck_dilations` again and again. `dec_non_bottleneck_channels`,
    `dec_stages_non_bottleneck`: channels and blocks of the decoder's stages. `dropout_ratio`: in the encoder.
    """

    def __init__(
        self,
        enc_downsample_channels: Sequence[int] = (16, 64, 128),
        enc_stage_non_bottlenecks: Sequence[int] = (5, 8),
        enc_non_bottleneck_dilations: Sequence[int] = (2, 4, 8, 16),
        dec_non_bottleneck_channels: Sequence[int] = (64, 16),
        dec_stages_non_bottleneck: Sequence[int] = (2, 2),
        dropout_ratio: float = 0.1,
    ) -> None:
        super().__init__()
        before = enc_downsample_channels[0]
        self.encoder = nn.Sequential(DownsamplerBlock(3, before))
        *plain, dilated = enc_stage_non_bottlenecks
        rounds = dilated // len(enc_non_bottleneck_dilations)
        dilations = [*((1,) * count for count in plain), tuple(enc_non_bottleneck_dilations) * rounds]
        for width, stage in zip(enc_downsample_channels[1:], dilations, strict=True):
            self.encoder.append(DownsamplerBlock(before, width))
            self.encoder.extend(NonBottleneck1d(width, dropout_ratio, dilation) for dilation in stage)
            before = width
        self.decoder = nn.Sequential()
        for width, count in zip(dec_non_bottleneck_channels, dec_stages_non_bottleneck, strict=True):
            self.decoder.append(UpsamplerBlock(before, width))
            self.decoder.extend(NonBottleneck1d(width) for _ in range(count))
            before = width

    def forward(self, x: Tensor) -> list[Tensor]:
        return [self.decoder(self.encoder(x))]
