"""The decode head of ISANet.

Source: Huang et al., Interlaced Sparse Self-Attention for Semantic Segmentation, 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.models.segmentation.context_heads.self_attention import SelfAttention, projection
from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


class Relation(SelfAttention):
    """[N, C, h, w] -> the same: attention of the places of a map to each other."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__(channels, channels, inner, channels, convs=2, normed=True)
        self.output_project = projection(channels, channels, normed=True)

    def forward(self, x: Tensor, keys: Tensor | None = None) -> Tensor:
        out: Tensor = self.output_project(super().forward(x, x if keys is None else keys))
        return out


@MODELS.register_module()
class ISAHead(DecodeHead):
    """Attention among places that are far from each other, then among neighbours.

    The map is cut into blocks of `down_factor` (h, w) places. First those of one place within their blocks see each
    other, then those of one block. `isa_channels`: in which places are compared. `options` as DecodeHead takes them.
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        channels: int,
        num_classes: int,
        isa_channels: int,
        down_factor: Sequence[int] = (8, 8),
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        self.down_factor = tuple(down_factor)
        self.in_conv = ConvModule(sum(self.in_channels), channels, 3)
        self.global_relation = Relation(channels, isa_channels)
        self.local_relation = Relation(channels, isa_channels)
        self.out_conv = ConvModule(2 * channels, channels, 1)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.in_conv(self.joined(features))
        return self.classified(self.out_conv(torch.cat([self.related(x), x], dim=1)))

    def related(self, x: Tensor) -> Tensor:
        """[N, C, h, w] -> the same. The map is padded with zeros to full blocks, on both sides."""
        (count, channels, height, width), (tall, wide) = x.shape, self.down_factor
        rows, columns = (height + tall - 1) // tall, (width + wide - 1) // wide
        missing_rows, missing_columns = rows * tall - height, columns * wide - width
        top, left = missing_rows // 2, missing_columns // 2
        x = F.pad(x, (left, missing_columns - left, top, missing_rows - top))
        x = x.reshape(count, channels, rows, tall, columns, wide).permute(0, 3, 5, 1, 2, 4)
        x = self.global_relation(x.reshape(count * tall * wide, channels, rows, columns))
        x = x.reshape(count, tall, wide, channels, rows, columns).permute(0, 4, 5, 3, 1, 2)
        x = self.local_relation(x.reshape(count * rows * columns, channels, tall, wide))
        x = x.reshape(count, rows, columns, channels, tall, wide).permute(0, 3, 1, 4, 2, 5)
        x = x.reshape(count, channels, rows * tall, columns * wide)
        return x[:, :, top : top + height, left : left + width]
