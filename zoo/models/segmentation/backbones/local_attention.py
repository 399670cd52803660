"""Attention within windows of a map, and of all places to a smaller map: that of the Twins.

Source: Chu et al., Twins: Revisiting the Design of Spatial Attention in Vision Transformers, NeurIPS 2021; parameter
names as in mmseg.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.backbones.mix_transformer import EfficientAttention
from zoo.models.segmentation.backbones.shifted_windows import cut, joined
from zoo.models.segmentation.backbones.transformer_layer import shortage

APART = -1000.0  # what is added to the similarity of a place and one of the padding


class GlobalAttention(EfficientAttention):
    """Attention of all places of [N, h, w, C] to a map that is `reduction` times smaller on each side."""

    def forward(self, x: Tensor, size: Sequence[int] | None = None) -> Tensor:
        out: Tensor = super().forward(x.flatten(1, 2), x.shape[1:3] if size is None else size)
        return out.reshape(x.shape)


class LocalAttention(nn.Module):
    """Multi-head attention within windows of [N, h, w, C], which is filled up with zeros to full windows."""

    def __init__(self, channels: int, num_heads: int, side: int, *, qkv_bias: bool) -> None:
        super().__init__()
        self.num_heads, self.side = num_heads, side
        self.qkv = nn.Linear(channels, 3 * channels, qkv_bias)
        self.proj = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        (_, height, width, channels), side, heads = x.shape, self.side, self.num_heads
        below, right = shortage(height, side), shortage(width, side)
        x = F.pad(x, (0, 0, 0, right, 0, below))
        windows = cut(x, side).flatten(1, 2).flatten(2, 3)  # [N, windows, side * side, C]
        projected = self.qkv(windows).unflatten(-1, (3, heads, channels // heads))
        query, key, value = projected.permute(3, 0, 1, 4, 2, 5).unbind(0)
        pairs = query @ key.transpose(-2, -1) * (channels // heads) ** -0.5
        pairs = pairs + self.apart(self.padding(height, below, x), self.padding(width, right, x))
        gathered = (torch.softmax(pairs, dim=-1) @ value).transpose(2, 3)
        out: Tensor = self.proj(joined(gathered, side, x.shape)[:, :height, :width])
        return out

    def padding(self, size: int, added: int, like: Tensor) -> Tensor:
        """Which places of an axis are of the padding, bool [size + added].

        All of them where nothing is added: so does mmseg, and so nothing is apart then.
        """
        is_padded = (added + self.side - 1) // self.side  # 0 or 1
        return torch.arange(size + added, device=like.device) >= size * is_padded

    def apart(self, rows: Tensor, columns: Tensor) -> Tensor:
        """[windows, 1, side * side, side * side], APART for pairs of a place of the image and one of the padding."""
        padded = (rows[:, None] | columns)[None, :, :, None].to(torch.int64)
        padded = cut(padded, self.side).reshape(-1, self.side**2)
        return ((padded[:, None] != padded[:, :, None]) * APART).unsqueeze(1)
