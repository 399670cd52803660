"""MobileNetV2.

Source: Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks, CVPR 2018; parameter names as in mmseg.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from zoo.models.segmentation.backbones.mobilenet_v3 import multiple_of_8
from zoo.models.segmentation.conv_module import RELU, ConvModule, Layer
from zoo.registry import MODELS

STEM_CHANNELS = 32
LAYERS = ((1, 16, 1), (6, 24, 2), (6, 32, 3), (6, 64, 4), (6, 96, 3), (6, 160, 3), (6, 320, 1))
"""How many times more channels the blocks of a layer have inside, the channels after them, and their number."""


class InvertedResidual(nn.Module):
    """1x1, depthwise and 1x1 convolutions, around a shortcut where the shape stays; the last has no activation.

    `expansion`: how many times more channels there are inside. Of 1, the first convolution is left out.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        stride: int,
        expansion: int,
        dilation: int = 1,
        activation: Layer = RELU,
    ) -> None:
        super().__init__()
        self.has_shortcut = stride == 1 and in_channels == out_channels
        hidden = in_channels * expansion
        self.conv = nn.Sequential()
        if expansion != 1:
            self.conv.append(ConvModule(in_channels, hidden, 1, activation=activation))
        self.conv.append(ConvModule(hidden, hidden, 3, stride, dilation, hidden, activation=activation))
        self.conv.append(ConvModule(hidden, out_channels, 1, activation=None))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv(x)
        return x + out if self.has_shortcut else out


@MODELS.register_module()
class MobileNetV2(nn.Module):
    """images [N, 3, H, W] -> the maps of the layers `out_indices`, of seven.

    `widen_factor`: of all channels. `strides` and `dilations`: of the first block of each layer, after a stem of stride
    2.
    """

    def __init__(
        self,
        widen_factor: float = 1.0,
        strides: Sequence[int] = (1, 2, 2, 2, 1, 2, 1),
        dilations: Sequence[int] = (1, 1, 1, 1, 1, 1, 1),
        out_indices: Sequence[int] = (1, 2, 4, 6),
    ) -> None:
        super().__init__()
        self.out_indices = tuple(out_indices)
        channels = multiple_of_8(int(STEM_CHANNELS * widen_factor))
        self.conv1 = ConvModule(3, channels, 3, 2, activation=nn.ReLU6)
        for number, (expansion, width, count) in enumerate(LAYERS, 1):
            blocks = nn.Sequential()
            out = multiple_of_8(int(width * widen_factor))
            for index in range(count):
                stride, dilation = (strides[number - 1], dilations[number - 1]) if index == 0 else (1, 1)
                blocks.append(InvertedResidual(channels, out, stride, expansion, dilation, nn.ReLU6))
                channels = out
            self.add_module(f"layer{number}", blocks)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.conv1(x)
        maps = []
        for index in range(len(LAYERS)):
            x = self.get_submodule(f"layer{index + 1}")(x)
            if index in self.out_indices:
                maps.append(x)
        return maps
