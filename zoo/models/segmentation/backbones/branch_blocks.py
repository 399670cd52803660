"""What DDRNet and PIDNet share: residual blocks whose sums may stay negative, and pyramid pooling.

Source: Pan et al., Deep Dual-Resolution Networks for Real-Time and Accurate Semantic Segmentation of Traffic Scenes,
T-ITS 2022, and Xu et al., PIDNet, CVPR 2023; parameter names as in mmseg.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.resize import resize

Shortcut = Callable[[int, int, int], nn.Module]
"""Of the channels before and after it, and its stride."""
POOLS = ((5, 2), (9, 4), (17, 8))
"""Sides and strides of the means that pyramid pooling takes, beside the whole map and its mean."""


class NormFirst(nn.Module):
    """Norm, activation, convolution: [N, C_in, h, w] -> [N, C_out, h, w]."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.bn = nn.BatchNorm2d(in_channels)
        padding = kernel_size // 2
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv(F.relu(self.bn(x)))
        return out


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around `shortcut`, the input itself if None. `activated`: whether the sum is."""

    def __init__(
        self, in_channels: int, channels: int, stride: int, shortcut: nn.Module | None, *, activated: bool
    ) -> None:
        super().__init__()
        self.conv1 = ConvModule(in_channels, channels, 3, stride)
        self.conv2 = ConvModule(channels, channels, 3, activation=None)
        self.downsample = shortcut
        self.activated = activated

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv2(self.conv1(x)) + (x if self.downsample is None else self.downsample(x))
        return F.relu(out) if self.activated else out


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions, to two times `channels`, around `shortcut`, the input itself if None."""

    def __init__(self, in_channels: int, channels: int, stride: int, shortcut: nn.Module | None) -> None:
        super().__init__()
        self.conv1 = ConvModule(in_channels, channels, 1)
        self.conv2 = ConvModule(channels, channels, 3, stride)
        self.conv3 = ConvModule(channels, 2 * channels, 1, activation=None)
        self.downsample = shortcut

    def forward(self, x: Tensor) -> Tensor:
        out = self.conv3(self.conv2(self.conv1(x)))
        result: Tensor = out + (x if self.downsample is None else self.downsample(x))
        return result


class Branches:
    """Makes the layers of branches, with the shortcuts of a network: DDRNet and PIDNet name theirs differently."""

    def __init__(self, shortcut: Shortcut) -> None:
        self.shortcut = shortcut

    def basic(self, in_channels: int, channels: int, count: int, stride: int = 1) -> nn.Sequential:
        """Basic blocks; the sum of the last one is not activated."""
        layers = nn.Sequential()
        for index in range(count):
            before, step = (channels, 1) if index else (in_channels, stride)
            layers.append(self.block(before, channels, step, activated=index < count - 1))
        return layers

    def block(self, in_channels: int, channels: int, stride: int = 1, *, activated: bool = False) -> BasicBlock:
        """One of them."""
        same = stride == 1 and in_channels == channels
        shortcut = None if same else self.shortcut(in_channels, channels, stride)
        return BasicBlock(in_channels, channels, stride, shortcut, activated=activated)

    def bottlenecks(self, in_channels: int, channels: int, count: int, stride: int = 1) -> nn.Sequential:
        """Bottlenecks, to two times `channels`."""
        layers = nn.Sequential()
        for index in range(count):
            before, step = (2 * channels, 1) if index else (in_channels, stride)
            same = step == 1 and before == 2 * channels
            shortcut = None if same else self.shortcut(before, 2 * channels, step)
            layers.append(Bottleneck(before, channels, step, shortcut))
        return layers

    def stem(self, channels: int, count: int) -> nn.Sequential:
        """images [N, 3, H, W] -> [N, 2 channels, H/8, W/8]."""
        first = ConvModule(3, channels, 3, 2), ConvModule(channels, channels, 3, 2)
        fine, coarse = self.basic(channels, channels, count), self.basic(channels, 2 * channels, count, 2)
        return nn.Sequential(*first, fine, nn.ReLU(), coarse, nn.ReLU())


class PyramidPooling(nn.Module):
    """[N, C_in, h, w] -> [N, out_channels, h, w]: the map beside its means over ever larger squares, and over all.

    Each mean joins the one before it. `inner`: the channels of each.
    """

    def __init__(self, in_channels: int, inner: int, out_channels: int) -> None:
        super().__init__()
        pools = [nn.AvgPool2d(side, stride, side // 2) for side, stride in POOLS]
        self.scales = nn.ModuleList([NormFirst(in_channels, inner)])
        self.scales.extend(
            nn.Sequential(pool, NormFirst(in_channels, inner)) for pool in (*pools, nn.AdaptiveAvgPool2d(1))
        )
        count = len(self.scales)
        self.processes = self.joining(inner, count - 1)
        self.compression = NormFirst(count * inner, out_channels)
        self.shortcut = NormFirst(in_channels, out_channels)

    def joining(self, inner: int, count: int) -> nn.Module:
        """What joins the means with the map."""
        return nn.ModuleList(NormFirst(inner, inner, 3) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        first, *others = self.scales
        means = [resize(scale(x), x.shape[2:]) for scale in others]
        out: Tensor = self.compression(torch.cat(self.joined(first(x), means), dim=1)) + self.shortcut(x)
        return out

    def joined(self, own: Tensor, means: list[Tensor]) -> list[Tensor]:
        """The map [N, inner, h, w] and its means, one after another."""
        maps = [own]
        for process, mean in zip(self.processes.children(), means, strict=True):
            maps.append(process(mean + maps[-1]))
        return maps


class ParallelPyramidPooling(PyramidPooling):
    """The same, and each mean joins the map itself, all at once."""

    def joining(self, inner: int, count: int) -> nn.Module:
        """One convolution, in groups."""
        return NormFirst(count * inner, count * inner, 3, groups=count)

    def joined(self, own: Tensor, means: list[Tensor]) -> list[Tensor]:
        """As the base's."""
        return [own, self.processes(torch.cat([mean + own for mean in means], dim=1))]
