"""The decode head of CCNet.

Source: Huang et al., CCNet: Criss-Cross Attention for Semantic Segmentation, ICCV 2019; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.context_heads.block_head import BlockHead
from zoo.models.segmentation.context_heads.self_attention import Scale
from zoo.registry import MODELS

REDUCTION = 8


class CrissCross(nn.Module):
    """[N, C, h, w] -> the same: each place with what those of its column and row say.

    The place itself is counted once, in its row.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.query_conv = nn.Conv2d(channels, channels // REDUCTION, 1)
        self.key_conv = nn.Conv2d(channels, channels // REDUCTION, 1)
        self.value_conv = nn.Conv2d(channels, channels, 1)
        self.gamma = Scale()

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.query_conv(x), self.key_conv(x), self.value_conv(x)
        height = x.shape[2]
        places = torch.arange(height, device=x.device)
        is_own = places[:, None] == places  # [h, h]
        columns = by_column(query).transpose(2, 3) @ by_column(key)  # [N, w, h, h]
        columns = columns.masked_fill(is_own, float("-inf")).transpose(1, 2)
        rows = by_row(query).transpose(2, 3) @ by_row(key)  # [N, h, w, w]
        weights = torch.softmax(torch.cat([columns, rows], dim=3), dim=3)  # [N, h, w, h + w]
        of_column = by_column(value) @ weights[..., :height].permute(0, 2, 3, 1)  # [N, w, C, h]
        of_row = by_row(value) @ weights[..., height:].transpose(2, 3)  # [N, h, C, w]
        out: Tensor = x + self.gamma(of_column.permute(0, 2, 3, 1) + of_row.transpose(1, 2))
        return out


def by_column(x: Tensor) -> Tensor:
    """[N, C, h, w] -> [N, w, C, h]."""
    return x.permute(0, 3, 1, 2)


def by_row(x: Tensor) -> Tensor:
    """[N, C, h, w] -> [N, h, C, w]."""
    return x.transpose(1, 2)


@MODELS.register_module()
class CCHead(BlockHead):
    """Criss-cross attention between two convolutions, `recurrence` times. `options` as FCNHead takes them."""

    def __init__(
        self,
        in_channels: int | Sequence[int],
        in_index: int | Sequence[int],
        channels: int,
        recurrence: int = 2,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, in_index, channels, **options)
        self.recurrence = recurrence
        self.cca = CrissCross(channels)

    def related(self, x: Tensor) -> Tensor:
        for _ in range(self.recurrence):
            x = self.cca(x)
        return x
