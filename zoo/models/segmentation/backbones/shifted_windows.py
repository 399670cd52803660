"""Attention within windows of a map, which are shifted in every second block of a Swin Transformer.

Source: Liu et al., Swin Transformer: Hierarchical Vision Transformer using Shifted Windows, ICCV 2021; parameter names
as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.backbones.transformer_layer import shortage

APART = -100.0  # what is added to the similarity of places that are neighbours by the shift alone


class WindowAttention(nn.Module):
    """Multi-head attention within windows: tokens [windows, side * side, C] -> the same.

    `apart` [windows of an image, 1, side * side, side * side]: what is added to the similarities of places.
    """

    relative_position_index: Tensor

    def __init__(self, channels: int, num_heads: int, side: int, *, qkv_bias: bool) -> None:
        super().__init__()
        self.num_heads, self.factor = num_heads, (channels // num_heads) ** -0.5
        span = 2 * side - 1  # of distances along an axis
        self.relative_position_bias_table = nn.Parameter(torch.zeros(span**2, num_heads))
        places = torch.arange(side)
        distances = places[:, None] - places + side - 1
        index = distances[:, None, :, None] * span + distances[None, :, None, :]
        self.register_buffer("relative_position_index", index.reshape(side**2, side**2))
        self.qkv = nn.Linear(channels, 3 * channels, qkv_bias)
        self.proj = nn.Linear(channels, channels)

    def forward(self, x: Tensor, apart: Tensor | None) -> Tensor:
        windows, places, channels = x.shape
        projected = self.qkv(x).reshape(windows, places, 3, self.num_heads, channels // self.num_heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.relative_position_bias_table[self.relative_position_index].permute(2, 0, 1)
        pairs = (self.factor * query) @ key.transpose(2, 3) + bias
        if apart is not None:
            of_images = pairs.reshape(-1, apart.shape[0], *pairs.shape[1:])
            pairs = (of_images + apart).reshape(pairs.shape)
        gathered = (torch.softmax(pairs, dim=-1) @ value).transpose(1, 2)
        out: Tensor = self.proj(gathered.reshape(x.shape))
        return out


class ShiftedWindows(nn.Module):
    """Attention within windows of a map [N, h, w, C], which begin `shift` places further down and to the right.

    The map is filled up with zeros to full windows.
    """

    def __init__(self, channels: int, num_heads: int, side: int, shift: int, *, qkv_bias: bool) -> None:
        super().__init__()
        self.side, self.shift = side, shift
        self.w_msa = WindowAttention(channels, num_heads, side, qkv_bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        (_, height, width, channels), side = x.shape, self.side
        x = F.pad(x, (0, 0, 0, shortage(width, side), 0, shortage(height, side)))
        added = None
        if self.shift:
            x = x.roll((-self.shift, -self.shift), dims=(1, 2))
            added = apart(x.shape[1], x.shape[2], side, self.shift, x)
        windows = cut(x, side).reshape(-1, side**2, channels)
        out = joined(self.w_msa(windows, added), side, x.shape)
        if self.shift:
            out = out.roll((self.shift, self.shift), dims=(1, 2))
        return out[:, :height, :width]


def apart(height: Any, width: Any, side: int, shift: int, like: Tensor) -> Tensor:
    """[windows, 1, side * side, side * side] of a map: APART for places of a window that the shift has joined."""
    rows, columns = (_part(size, side, shift, like) for size in (height, width))
    parts = (3 * rows[:, None] + columns)[None, :, :, None]
    parts = cut(parts, side).reshape(-1, side**2)
    differ = parts[:, None] != parts[:, :, None]
    return (differ.to(like.dtype) * APART).unsqueeze(1)


def _part(size: Any, side: int, shift: int, like: Tensor) -> Tensor:
    """In which part each place of an axis is: 0, 1 of the last window, 2 of those that came from the other end."""
    places = torch.arange(size, device=like.device)
    of_last, of_other_end = places >= size - side, places >= size - shift
    parts: Tensor = of_last.to(torch.int64) + of_other_end.to(torch.int64)
    return parts


def cut(x: Tensor, side: int) -> Tensor:
    """[N, h, w, C] -> [N, h / side, w / side, side, side, C]."""
    count, height, width, channels = x.shape
    return x.reshape(count, height // side, side, width // side, side, channels).transpose(2, 3)


def joined(windows: Tensor, side: int, shape: Sequence[int]) -> Tensor:
    """The map of this shape [N, h, w, C] that `cut` has made these windows of; their dimensions may be flattened."""
    count, height, width, channels = shape
    windows = windows.reshape(count, height // side, width // side, side, side, channels)
    return windows.transpose(2, 3).reshape(count, height, width, channels)
