"""The decode head of EncNet.

Source: Zhang et al., Context Encoding for Semantic Segmentation, CVPR 2018; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


class Encoding(nn.Module):
    """[N, C, h, w] -> [N, num_codes, C], how far the places of each code are from it on the whole.

    A place belongs to codes by a softmax of its squared distances, which are never made for pairs of channels:
    |x - c|^2 = |x|^2 - 2 x c + |c|^2.
    """

    def __init__(self, channels: int, num_codes: int) -> None:
        super().__init__()
        bound = (num_codes * channels) ** -0.5
        self.codewords = nn.Parameter(torch.empty(num_codes, channels).uniform_(-bound, bound))
        self.scale = nn.Parameter(torch.empty(num_codes).uniform_(-1, 0))

    def forward(self, x: Tensor) -> Tensor:
        places, codes = x.flatten(2).transpose(1, 2), self.codewords  # [N, n, C], [k, C]
        lengths = places.square().sum(dim=2, keepdim=True)
        distances = lengths - 2 * (places @ codes.t()) + codes.square().sum(dim=1)
        shares = torch.softmax(self.scale * distances, dim=2).transpose(1, 2)  # [N, k, n]
        return shares @ places - shares.sum(dim=2, keepdim=True) * codes


class EncModule(nn.Module):
    """[N, C, h, w] -> the same, each channel raised by what the encoding of the map says of it."""

    def __init__(self, channels: int, num_codes: int) -> None:
        super().__init__()
        self.encoding_project = ConvModule(channels, channels, 1)
        self.encoding = nn.Sequential(Encoding(channels, num_codes), nn.BatchNorm1d(num_codes), nn.ReLU(inplace=True))
        self.fc = nn.Sequential(nn.Linear(channels, channels), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        encoded = self.encoding(self.encoding_project(x)).mean(dim=1)
        return F.relu(x + x * self.fc(encoded)[:, :, None, None])


@MODELS.register_module()
class EncHead(DecodeHead):
    """The last of several maps, by `add_lateral` joined with the others, and its encoding by `num_codes` codes.

    mmseg trains the encoding with a layer of its own, which inference never runs. `options` as DecodeHead takes them.
    """

    trained_only: ClassVar[tuple[str, ...]] = ("se_layer",)

    def __init__(
        self,
        in_channels: Sequence[int],
        channels: int,
        num_classes: int,
        num_codes: int = 32,
        *,
        add_lateral: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        *lower, last = self.in_channels
        self.bottleneck = ConvModule(last, channels, 3)
        self.lateral_convs = nn.ModuleList(ConvModule(width, channels, 1) for width in lower if add_lateral)
        self.fusion = ConvModule(len(self.in_channels) * channels, channels, 3) if add_lateral else None
        self.enc_module = EncModule(channels, num_codes)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        *lower, last = self.selected(features)
        out = self.bottleneck(last)
        if self.fusion is not None:
            laterals = [conv(x) for conv, x in zip(self.lateral_convs, lower, strict=True)]
            resized = [resize(x, out.shape[2:], self.align_corners) for x in laterals]
            out = self.fusion(torch.cat([out, *resized], dim=1))
        return self.classified(self.enc_module(out))
