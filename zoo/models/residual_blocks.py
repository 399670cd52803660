"""The blocks of a ResNet.

Source: He et al., Deep Residual Learning for Image Recognition, CVPR 2016, and Bag of Tricks for Image Classification,
CVPR 2019 (shortcuts that average); parameter names as in torchvision and mmseg.
"""

from torch import Tensor, nn

Conv = type[nn.Conv2d]


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut: [N, C_in, H, W] -> [N, C_out, H/stride, W/stride].

    `dilate_both`: whether the second is dilated, too; mmseg's is not. `conv`: the class of both. `avg_down`: whether a
    shortcut averages before its convolution.
    """

    expansion = 1

    def __init__(
        self,
        in_channels: int,
        channels: int,
        stride: int = 1,
        dilation: int = 1,
        *,
        conv: Conv = nn.Conv2d,
        dilate_both: bool = False,
        avg_down: bool = False,
    ) -> None:
        super().__init__()
        second = dilation if dilate_both else 1
        self.conv1 = conv(in_channels, channels, 3, stride, dilation, dilation, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv(channels, channels, 3, 1, second, second, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = _shortcut(in_channels, channels, stride, avg_down=avg_down)

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        result: Tensor = self.relu(out + identity)
        return result


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions around a shortcut: [N, C_in, H, W] -> [N, 4 C, H/stride, W/stride].

    The 3x3 convolution, of class `conv`, has the stride ("pytorch" style). `avg_down` as BasicBlock's.
    """

    expansion = 4

    def __init__(
        self,
        in_channels: int,
        channels: int,
        stride: int = 1,
        dilation: int = 1,
        *,
        conv: Conv = nn.Conv2d,
        avg_down: bool = False,
    ) -> None:
        super().__init__()
        out_channels = channels * self.expansion
        self.conv1 = nn.Conv2d(in_channels, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2: nn.Module = conv(channels, channels, 3, stride, dilation, dilation, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, out_channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(in_channels, out_channels, stride, avg_down=avg_down)

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        result: Tensor = self.relu(out + identity)
        return result


def _shortcut(in_channels: int, out_channels: int, stride: int, *, avg_down: bool) -> nn.Module | None:
    """None where the input itself is the shortcut."""
    if stride == 1 and in_channels == out_channels:
        return None
    if avg_down:
        pool = nn.AvgPool2d(stride, stride, ceil_mode=True, count_include_pad=False)
        conv = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        return nn.Sequential(pool, conv, nn.BatchNorm2d(out_channels))
    return nn.Sequential(nn.Conv2d(in_channels, out_channels, 1, stride, bias=False), nn.BatchNorm2d(out_channels))
