"""The decode head of the semantic feature pyramid network.

Source: Kirillov et al., Panoptic Feature Pyramid Networks, CVPR 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.models.segmentation.resize import Enlarged, resize
from zoo.registry import MODELS


@MODELS.register_module()
class FPNHead(DecodeHead):
    """The sum of several maps, each convolved and enlarged to the size of the first.

    `feature_strides`: how many times smaller than the image the maps are. `options` as DecodeHead takes them.
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        channels: int,
        num_classes: int,
        feature_strides: Sequence[int],
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        self.scale_heads = nn.ModuleList(
            self.enlarging(width, channels, stride // feature_strides[0])
            for width, stride in zip(self.in_channels, feature_strides, strict=True)
        )

    def enlarging(self, in_channels: int, channels: int, factor: int) -> nn.Sequential:
        """A convolution for each doubling of a map that is `factor` times too small; one where it is not."""
        layers = nn.Sequential()
        for index in range(max(1, factor.bit_length() - 1)):
            layers.append(ConvModule(channels if index else in_channels, channels, 3))
            if factor > 1:
                layers.append(Enlarged(2, align_corners=self.align_corners))
        return layers

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        first, *others = [head(x) for head, x in zip(self.scale_heads, self.selected(features), strict=True)]
        for x in others:
            first = first + resize(x, first.shape[2:], self.align_corners)
        return self.classified(first)
