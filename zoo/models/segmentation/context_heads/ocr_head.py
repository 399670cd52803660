"""The decode head of OCRNet.

Source: Yuan et al., Object-Contextual Representations for Semantic Segmentation, ECCV 2020; parameter names as in
mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from zoo.models.segmentation.context_heads.self_attention import SelfAttention
from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


def objects_of(x: Tensor, logits: Tensor) -> Tensor:
    """[N, C, h, w] and coarse logits [N, K, h, w] -> [N, C, K, 1], the mean of each class over its likely places."""
    shares = torch.softmax(logits.flatten(2), dim=2)
    return (x.flatten(2) @ shares.transpose(1, 2)).unsqueeze(3)


class ObjectAttention(SelfAttention):
    """places [N, C, h, w] and objects [N, C, K, 1] -> [N, C, h, w], the places beside the objects that suit them."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__(channels, channels, inner, channels, convs=2, normed=True, value_normed=True, has_out=True)
        self.bottleneck = ConvModule(2 * channels, channels, 1)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        context = super().forward(queries, keys)
        out: Tensor = self.bottleneck(torch.cat([context, queries], dim=1))
        return out


@MODELS.register_module()
class OCRHead(DecodeHead):
    """A head of a cascade: it improves the logits of the head before it by what the classes look like in the image.

    `ocr_channels`: in which places and classes are compared. `options` as DecodeHead takes them.
    """

    def __init__(
        self, in_channels: int | Sequence[int], channels: int, num_classes: int, ocr_channels: int, **options: Any
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        self.object_context_block = ObjectAttention(channels, ocr_channels)
        self.bottleneck = ConvModule(sum(self.in_channels), channels, 3)

    def forward(self, features: Sequence[Tensor], logits: Tensor) -> Tensor:
        x = self.bottleneck(self.joined(features))
        return self.classified(self.object_context_block(x, objects_of(x, logits)))
