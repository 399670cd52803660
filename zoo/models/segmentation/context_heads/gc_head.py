"""The decode head of GCNet.

Source: Cao et al., GCNet: Non-local Networks Meet Squeeze-Excitation Networks and Beyond, ICCVW 2019; parameter names
as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.context_heads.block_head import BlockHead
from zoo.registry import MODELS

ADD, MULTIPLY = "channel_add", "channel_mul"


class GlobalContext(nn.Module):
    """[N, C, h, w] -> the same, with one context of all places added to each, or each scaled by it, or both.

    `ratio`: of the channels in between. `pooling_type`: "att", a learned weight of each place, or "avg". `fusion_types`
    of "channel_mul" and "channel_add", done in this order. Raises ValueError for others.
    """

    def __init__(self, channels: int, ratio: float, pooling_type: str, fusion_types: Sequence[str]) -> None:
        super().__init__()
        if pooling_type not in ("att", "avg") or not fusion_types or set(fusion_types) - {ADD, MULTIPLY}:
            raise ValueError(f"pooling_type {pooling_type!r}, fusion_types {fusion_types!r} of a global context")
        self.conv_mask = nn.Conv2d(channels, 1, 1) if pooling_type == "att" else None
        inner = int(channels * ratio)
        self.channel_add_conv = _transform(channels, inner) if ADD in fusion_types else None
        self.channel_mul_conv = _transform(channels, inner) if MULTIPLY in fusion_types else None

    def forward(self, x: Tensor) -> Tensor:
        context = self.context(x)
        out = x
        if self.channel_mul_conv is not None:
            out = out * torch.sigmoid(self.channel_mul_conv(context))
        if self.channel_add_conv is not None:
            out = out + self.channel_add_conv(context)
        return out

    def context(self, x: Tensor) -> Tensor:
        """[N, C, h, w] -> [N, C, 1, 1], the mean of all places, weighed or not."""
        if self.conv_mask is None:
            return x.mean(dim=(2, 3), keepdim=True)
        weights = torch.softmax(self.conv_mask(x).flatten(2), dim=-1)  # [N, 1, places]
        return (x.flatten(2) @ weights.transpose(1, 2)).unsqueeze(-1)


def _transform(channels: int, inner: int) -> nn.Sequential:
    norm = nn.LayerNorm([inner, 1, 1])
    return nn.Sequential(nn.Conv2d(channels, inner, 1), norm, nn.ReLU(inplace=True), nn.Conv2d(inner, channels, 1))


@MODELS.register_module()
class GCHead(BlockHead):
    """A global context between two convolutions, with its arguments. `options` as FCNHead takes them."""

    def __init__(
        self,
        in_channels: int | Sequence[int],
        in_index: int | Sequence[int],
        channels: int,
        ratio: float = 0.25,
        pooling_type: str = "att",
        fusion_types: Sequence[str] = (ADD,),
        **options: Any,
    ) -> None:
        super().__init__(in_channels, in_index, channels, **options)
        self.gc_block = GlobalContext(channels, ratio, pooling_type, fusion_types)

    def related(self, x: Tensor) -> Tensor:
        out: Tensor = self.gc_block(x)
        return out
