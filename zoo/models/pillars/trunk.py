"""The 2D network behind the pillars: blocks of convolutions, each at half the resolution of the one before.

Source: Lang et al., PointPillars, CVPR 2019, section 2.2.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

EPS, MOMENTUM = 1e-3, 0.01  # of the batch norms, as the authors have them


class Trunk(nn.Module):
    """canvas float32 [N, C, h, w] -> features [N, sum(up_channels), h / s, w / s], s = `strides[0]`.

    h and w are multiples of the product of `strides`.

    `channels`, `depths`, `strides`: of each block, `depths` counting the convolutions behind the one with the stride.
    What each block gives is brought to the resolution of the first, with `up_channels`.
    """

    def __init__(
        self,
        in_channels: int,
        channels: Sequence[int],
        depths: Sequence[int],
        strides: Sequence[int],
        up_channels: Sequence[int],
    ) -> None:
        super().__init__()
        self.blocks, self.ups = nn.ModuleList(), nn.ModuleList()
        scale = 1
        for index, (width, depth, stride, up) in enumerate(zip(channels, depths, strides, up_channels, strict=True)):
            scale *= stride if index else 1
            layers = [conv_norm(in_channels, width, 3, stride), *(conv_norm(width, width, 3) for _ in range(depth))]
            self.blocks.append(nn.Sequential(*layers))
            self.ups.append(_up(width, up, scale))
            in_channels = width
        self.out_channels = sum(up_channels)

    def forward(self, canvas: Tensor) -> Tensor:
        raised = []
        for block, up in zip(self.blocks, self.ups, strict=True):
            canvas = block(canvas)
            raised.append(up(canvas))
        return torch.cat(raised, dim=1)


def conv_norm(in_channels: int, out_channels: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """Convolution, batch norm, ReLU."""
    conv = nn.Conv2d(in_channels, out_channels, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out_channels, EPS, MOMENTUM), nn.ReLU())


def _up(in_channels: int, out_channels: int, scale: int) -> nn.Sequential:
    conv = nn.ConvTranspose2d(in_channels, out_channels, scale, scale, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out_channels, EPS, MOMENTUM), nn.ReLU())
