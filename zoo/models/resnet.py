"""ResNet of any depth and width, with mmseg's stem, strides and dilations, and deformable stages.

Source: He et al., Deep Residual Learning for Image Recognition, CVPR 2016, and Bag of Tricks for Image Classification,
CVPR 2019 (the deep stem of v1c, the averaging shortcuts of v1d); parameter names as in torchvision and mmseg.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from zoo.models.deformable_convolution import ModulatedDeformableConv2d
from zoo.registry import MODELS

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
        self.conv2 = conv(channels, channels, 3, stride, dilation, dilation, bias=False)
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


BLOCKS: dict[int, tuple[type[BasicBlock | Bottleneck], tuple[int, ...]]] = {
    18: (BasicBlock, (2, 2, 2, 2)),
    34: (BasicBlock, (3, 4, 6, 3)),
    50: (Bottleneck, (3, 4, 6, 3)),
    101: (Bottleneck, (3, 4, 23, 3)),
    152: (Bottleneck, (3, 8, 36, 3)),
}


@MODELS.register_module()
class ResNet(nn.Module):
    """images [N, 3, H, W] -> four feature maps, of `base_channels` x (1, 2, 4, 8) channels, times 4 from depth 50.

    At the default strides they lie at 1/4, 1/8, 1/16 and 1/32 of the image; a stage with stride 1 keeps its
    resolution and is usually given a dilation instead. `deep_stem`: three 3x3 convolutions instead of one 7x7 (mmseg's
    ResNetV1c), of `stem_channels`, by default as many as `base_channels`. `avg_down`: shortcuts average before their
    convolution (ResNetV1d). `contract_dilation`: the first block of a dilated stage has half its dilation.
    `dilate_both`: see BasicBlock. `deformable`: of which stages the 3x3 convolutions are modulated deformable ones.
    Raises ValueError for an unknown depth.
    """

    def __init__(
        self,
        depth: int,
        base_channels: int = 64,
        strides: Sequence[int] = (1, 2, 2, 2),
        dilations: Sequence[int] = (1, 1, 1, 1),
        deformable: Sequence[bool] = (False, False, False, False),
        *,
        stem_channels: int | None = None,
        deep_stem: bool = False,
        avg_down: bool = False,
        contract_dilation: bool = False,
        dilate_both: bool = False,
    ) -> None:
        super().__init__()
        if depth not in BLOCKS:
            raise ValueError(f"ResNet of depth {depth}; expected one of {', '.join(map(str, BLOCKS))}")
        block, counts = BLOCKS[depth]
        options = {"avg_down": avg_down} | ({"dilate_both": dilate_both} if block is BasicBlock else {})
        in_channels = base_channels if stem_channels is None else stem_channels
        self.out_channels = [base_channels * 2**stage * block.expansion for stage in range(len(counts))]
        self.deep_stem = deep_stem
        if deep_stem:
            self.stem = _deep_stem(in_channels)
        else:
            self.conv1 = nn.Conv2d(3, in_channels, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(in_channels)
            self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        for stage, count in enumerate(counts):
            blocks = nn.Sequential()
            conv = ModulatedDeformableConv2d if deformable[stage] else nn.Conv2d
            for index in range(count):
                first = index == 0
                dilation = dilations[stage]
                if first and contract_dilation and dilation > 1:
                    dilation //= 2
                stride = strides[stage] if first else 1
                blocks.append(block(in_channels, base_channels * 2**stage, stride, dilation, conv=conv, **options))
                in_channels = self.out_channels[stage]
            setattr(self, f"layer{stage + 1}", blocks)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.stem(x) if self.deep_stem else self.relu(self.bn1(self.conv1(x)))
        x = self.maxpool(x)
        features = []
        for stage in range(len(self.out_channels)):
            x = getattr(self, f"layer{stage + 1}")(x)
            features.append(x)
        return features


@MODELS.register_module()
class ResNet18(ResNet):
    """The ResNet of depth 18 of the shipped models: a plain stem, and both convolutions of a block are dilated."""

    def __init__(
        self,
        base_channels: int = 64,
        strides: Sequence[int] = (1, 2, 2, 2),
        dilations: Sequence[int] = (1, 1, 1, 1),
        deformable: Sequence[bool] = (False, False, False, False),
    ) -> None:
        super().__init__(18, base_channels, strides, dilations, deformable, dilate_both=True)


def _shortcut(in_channels: int, out_channels: int, stride: int, *, avg_down: bool) -> nn.Module | None:
    """None where the input itself is the shortcut."""
    if stride == 1 and in_channels == out_channels:
        return None
    if avg_down:
        pool = nn.AvgPool2d(stride, stride, ceil_mode=True, count_include_pad=False)
        conv = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        return nn.Sequential(pool, conv, nn.BatchNorm2d(out_channels))
    return nn.Sequential(nn.Conv2d(in_channels, out_channels, 1, stride, bias=False), nn.BatchNorm2d(out_channels))


def _deep_stem(channels: int) -> nn.Sequential:
    """[N, 3, H, W] -> [N, channels, H/2, W/2]."""
    half = channels // 2
    layers: list[nn.Module] = []
    for i, o, stride in ((3, half, 2), (half, half, 1), (half, channels, 1)):
        layers += [nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)
