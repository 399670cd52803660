"""The building blocks of YOLOv5. Attribute names are those of the original's parameters.

Source: Wang et al., CSPNet, CVPRW 2020 (C3); He et al., Spatial Pyramid Pooling, ECCV 2014 (SPPF is its faster form);
the YOLOv5 architecture page, https://docs.ultralytics.com/yolov5/tutorials/architecture_description/.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Conv(nn.Module):
    """Convolution, batch norm, SiLU: [N, C_in, H, W] -> [N, C_out, H/stride, W/stride]."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel: int = 1, stride: int = 1, padding: int | None = None
    ) -> None:
        super().__init__()
        padding = kernel // 2 if padding is None else padding
        self.conv = nn.Conv2d(in_channels, out_channels, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(out_channels, eps=1e-3, momentum=0.03)
        self.act = nn.SiLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.act(self.bn(self.conv(x)))
        return result


class Bottleneck(nn.Module):
    """1x1 and 3x3 convolutions, with a shortcut around both: [N, C, H, W] -> [N, C, H, W]."""

    def __init__(self, channels: int, *, shortcut: bool) -> None:
        super().__init__()
        self.cv1 = Conv(channels, channels)
        self.cv2 = Conv(channels, channels, 3)
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.cv2(self.cv1(x))
        return x + y if self.shortcut else y


class C3(nn.Module):
    """A CSP stage of three convolutions, half of the channels through `depth` bottlenecks."""

    def __init__(self, in_channels: int, out_channels: int, depth: int, *, shortcut: bool = True) -> None:
        super().__init__()
        half = out_channels // 2
        self.cv1 = Conv(in_channels, half)
        self.cv2 = Conv(in_channels, half)
        self.cv3 = Conv(2 * half, out_channels)
        self.m = nn.Sequential(*(Bottleneck(half, shortcut=shortcut) for _ in range(depth)))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.cv3(torch.cat((self.m(self.cv1(x)), self.cv2(x)), dim=1))
        return y


class SPPF(nn.Module):
    """Spatial pyramid pooling: the maxima over windows of 5, 9 and 13 cells, by one pooling three times."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int = 5) -> None:
        super().__init__()
        half = in_channels // 2
        self.cv1 = Conv(in_channels, half)
        self.cv2 = Conv(4 * half, out_channels)
        self.m = nn.MaxPool2d(kernel, 1, kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        pooled = [self.cv1(x)]
        for _ in range(3):
            pooled.append(self.m(pooled[-1]))
        y: Tensor = self.cv2(torch.cat(pooled, dim=1))
        return y


class Concat(nn.Module):
    """Feature maps one after another along the channels."""

    def forward(self, maps: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(maps), dim=1)
