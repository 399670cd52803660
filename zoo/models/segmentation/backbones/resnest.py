"""ResNeSt.

Source: Zhang et al., ResNeSt: Split-Attention Networks, CVPRW 2022; parameter names as in mmseg.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.residual_blocks import Bottleneck
from zoo.models.resnet import Block, ResNet
from zoo.registry import MODELS

LEAST_INNER = 32


class SplitAttention(nn.Module):
    """A convolution with norm to `radix` maps, and their sum, weighed for each channel: [N, C, h, w] -> the same.

    `reduction`: how many times fewer channels all maps together have where the weights are made.
    """

    def __init__(self, channels: int, radix: int, reduction: int, dilation: int, stride: int) -> None:
        super().__init__()
        self.radix = radix
        self.conv = nn.Conv2d(channels, radix * channels, 3, stride, dilation, dilation, groups=radix, bias=False)
        self.bn0 = nn.BatchNorm2d(radix * channels)
        inner = max(channels * radix // reduction, LEAST_INNER)
        self.fc1 = nn.Conv2d(channels, inner, 1)
        self.bn1 = nn.BatchNorm2d(inner)
        self.fc2 = nn.Conv2d(inner, radix * channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        maps = self.apart(F.relu(self.bn0(self.conv(x))))
        means = maps.sum(dim=1).mean(dim=(2, 3), keepdim=True)
        logits = self.apart(self.fc2(F.relu(self.bn1(self.fc1(means)))))
        weights = torch.softmax(logits, dim=1) if self.radix > 1 else torch.sigmoid(logits)
        return (weights * maps).sum(dim=1)

    def apart(self, x: Tensor) -> Tensor:
        """[N, radix C, h, w] -> [N, radix, C, h, w]."""
        count, channels, height, width = x.shape
        return x.reshape(count, self.radix, channels // self.radix, height, width)


class SplitAttentionBottleneck(Bottleneck):
    """A bottleneck whose 3x3 convolution is a split attention, with its arguments. A mean makes the map smaller.

    `avg_down_stride`: whether it does, instead of the convolution.
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        stride: int = 1,
        dilation: int = 1,
        *,
        radix: int,
        reduction: int,
        avg_down_stride: bool,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, stride, dilation, **options)
        is_mean = avg_down_stride and stride > 1
        self.conv2 = SplitAttention(channels, radix, reduction, dilation, 1 if is_mean else stride)
        del self.bn2
        self.avd_layer = nn.AvgPool2d(3, stride, 1) if is_mean else None

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.conv2(self.relu(self.bn1(self.conv1(x))))
        if self.avd_layer is not None:
            out = self.avd_layer(out)
        result: Tensor = self.relu(self.bn3(self.conv3(out)) + identity)
        return result


@MODELS.register_module()
class ResNeSt(ResNet):
    """A ResNetV1d with split attention: `radix` maps, `reduction` times fewer channels between them.

    `options` as ResNet takes them. `avg_down_stride`: as the bottleneck's.
    """

    blocks: ClassVar[Mapping[int, tuple[Block, tuple[int, ...]]]] = {
        50: (SplitAttentionBottleneck, (3, 4, 6, 3)),
        101: (SplitAttentionBottleneck, (3, 4, 23, 3)),
        152: (SplitAttentionBottleneck, (3, 8, 36, 3)),
        200: (SplitAttentionBottleneck, (3, 24, 36, 3)),
    }

    def __init__(
        self, depth: int, radix: int = 2, reduction: int = 4, *, avg_down_stride: bool = True, **options: Any
    ) -> None:
        block_options = {"radix": radix, "reduction": reduction, "avg_down_stride": avg_down_stride}
        super().__init__(depth, deep_stem=True, avg_down=True, block_options=block_options, **options)
