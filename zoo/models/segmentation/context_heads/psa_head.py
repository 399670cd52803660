"""The decode head of PSANet.

Source: Zhao et al., PSANet: Point-wise Spatial Attention Network for Scene Parsing, ECCV 2018; parameter names as in
mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS

COLLECT, DISTRIBUTE, BOTH = "collect", "distribute", "bi-direction"


def pairs_of_masks(masks: Tensor, mask_size: Sequence[int]) -> Tensor:
    """masks [N, mask height * mask width, h, w] -> [N, h * w, h, w]: what the mask of each place says of all places.

    A place's mask is centred on it. `out[n, there, here]` is 0 where the mask of `here` does not reach `there`.
    """
    (height, width), (tall, wide) = masks.shape[2:], mask_size
    row, column = _in_the_mask(height, tall, masks), _in_the_mask(width, wide, masks)
    is_reached = ((row >= 0) & (row < tall))[:, None, :, None] & ((column >= 0) & (column < wide))[None, :, None]
    cell = row.clamp(0, tall - 1)[:, None, :, None] * wide + column.clamp(0, wide - 1)[None, :, None]
    cell, is_reached = (of_pairs.reshape(height * width, height, width) for of_pairs in (cell, is_reached))
    pairs: Tensor = masks.gather(1, cell.expand(masks.shape[0], -1, -1, -1)) * is_reached.to(masks.dtype)
    return pairs


def _in_the_mask(size: int, mask_size: int, masks: Tensor) -> Tensor:
    """Where a place is in the mask of another one, along an axis: int64 [there, here]."""
    places = torch.arange(size, device=masks.device)
    return places[:, None] - places + (mask_size - 1) // 2


def exchanged(pairs: Tensor) -> Tensor:
    """[N, there, h, w] -> the same with the two places of each pair exchanged."""
    return pairs.flatten(2).transpose(1, 2).reshape(pairs.shape)


@MODELS.register_module()
class PSAHead(DecodeHead):
    """Each place collects from all others, distributes to them, or both, by masks that a convolution predicts.

    `mask_size` (h, w): of the masks, of which `compact` ones are as large as the map itself. `psa_type`: "collect",
    "distribute" or "bi-direction". `shrink_factor`: how many times smaller the map becomes for it.
    `normalization_factor`: what is gathered is divided by it, by the cells of a mask if None. `options` as DecodeHead
    takes them. A graph with a dynamic size is not possible: see `shrunk`. Raises ValueError for another `psa_type`.
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        channels: int,
        num_classes: int,
        mask_size: Sequence[int],
        psa_type: str = BOTH,
        shrink_factor: int = 2,
        normalization_factor: float | None = 1.0,
        *,
        compact: bool = False,
        psa_softmax: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        if psa_type not in (COLLECT, DISTRIBUTE, BOTH):
            raise ValueError(f'psa_type "{psa_type}"; expected {COLLECT}, {DISTRIBUTE} or {BOTH}')
        self.mask_size, self.psa_type = tuple(mask_size), psa_type
        self.compact, self.psa_softmax, self.shrink_factor = compact, psa_softmax, shrink_factor
        cells, total = mask_size[0] * mask_size[1], sum(self.in_channels)
        self.normalization_factor = cells if normalization_factor is None else normalization_factor
        self.reduce, self.attention = ConvModule(total, channels, 1), _attention(channels, cells)
        if psa_type == BOTH:
            self.reduce_p, self.attention_p = ConvModule(total, channels, 1), _attention(channels, cells)
        self.proj = ConvModule(2 * channels if psa_type == BOTH else channels, total, 1)
        self.bottleneck = ConvModule(2 * total, channels, 3)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.joined(features)
        size, corners = self.shrunk(x)
        first = DISTRIBUTE if self.psa_type == DISTRIBUTE else COLLECT
        gathered = [self.gathered(self.reduce(x), self.attention, first, size, align_corners=corners)]
        if self.psa_type == BOTH:
            gathered.append(self.gathered(self.reduce_p(x), self.attention_p, DISTRIBUTE, size, align_corners=corners))
        out = self.proj(F.pad(torch.cat(gathered, dim=1), (1, 1, 1, 1)))  # mmseg's 1x1 convolution pads
        out = resize(out, x.shape[2:], corners)
        return self.classified(self.bottleneck(torch.cat([x, out], dim=1)))

    def shrunk(self, x: Tensor) -> tuple[tuple[int, int], bool]:
        """The size of the smaller map, and `align_corners` of all resizing, which depends on the size.

        Corners are aligned where neither side is a multiple of `shrink_factor`.
        """
        height, width = x.shape[2:]
        factor = self.shrink_factor
        if factor == 1:
            return (height, width), self.align_corners
        if height % factor and width % factor:
            return ((height - 1) // factor + 1, (width - 1) // factor + 1), True
        return (height // factor, width // factor), False

    def gathered(
        self, x: Tensor, attention: nn.Module, psa_type: str, size: tuple[int, int], *, align_corners: bool
    ) -> Tensor:
        """[N, channels, h, w] -> [N, channels, *size], what the places gather."""
        if self.shrink_factor != 1:
            x = resize(x, size, align_corners)
        pairs = attention(x)
        is_exchanged = psa_type == DISTRIBUTE
        if self.compact:
            is_exchanged = not is_exchanged
        else:
            pairs = pairs_of_masks(pairs, self.mask_size)
        if is_exchanged:
            pairs = exchanged(pairs)
        if self.psa_softmax:
            pairs = torch.softmax(pairs, dim=1)
        out: Tensor = (x.flatten(2) @ pairs.flatten(2)).reshape(x.shape) / self.normalization_factor
        return out


def _attention(channels: int, cells: int) -> nn.Sequential:
    return nn.Sequential(ConvModule(channels, channels, 1), nn.Conv2d(channels, cells, 1, bias=False))
