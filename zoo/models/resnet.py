"""ResNet-18 of any width, with mmseg's strides and dilations.

Source: He et al., Deep Residual Learning for Image Recognition, CVPR 2016; parameter names as in torchvision.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from zoo.registry import MODELS


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut: [N, C_in, H, W] -> [N, C_out, H/stride, W/stride]."""

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride, dilation, dilation, bias=False)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, 1, dilation, dilation, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.downsample: nn.Module | None = None
        if stride != 1 or in_channels != out_channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(in_channels, out_channels, 1, stride, bias=False), nn.BatchNorm2d(out_channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        result: Tensor = self.relu(out + identity)
        return result


@MODELS.register_module()
class ResNet18(nn.Module):
    """images [N, 3, H, W] -> four feature maps, of `base_channels` x (1, 2, 4, 8) channels.

    At the default strides they lie at 1/4, 1/8, 1/16 and 1/32 of the image; a stage with stride 1 keeps its
    resolution and is usually given a dilation instead.
    """

    def __init__(
        self,
        base_channels: int = 64,
        strides: Sequence[int] = (1, 2, 2, 2),
        dilations: Sequence[int] = (1, 1, 1, 1),
    ) -> None:
        super().__init__()
        self.out_channels = [base_channels * 2**stage for stage in range(4)]
        self.conv1 = nn.Conv2d(3, base_channels, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(base_channels)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        in_channels = base_channels
        for stage, out_channels in enumerate(self.out_channels):
            blocks = nn.Sequential(
                BasicBlock(in_channels, out_channels, strides[stage], dilations[stage]),
                BasicBlock(out_channels, out_channels, 1, dilations[stage]),
            )
            setattr(self, f"layer{stage + 1}", blocks)
            in_channels = out_channels

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        features = []
        for stage in range(4):
            x = getattr(self, f"layer{stage + 1}")(x)
            features.append(x)
        return features
