"""The decode head of EMANet.

Source: Li et al., Expectation-Maximization Attention Networks for Semantic Segmentation, ICCV 2019; parameter names as
in mmseg.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule, bare
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


class ExpectationMaximization(nn.Module):
    """[N, C, h, w] -> the same, each place made of a few bases, which are fitted to the map in `num_stages` steps.

    In training the bases to begin with move by `momentum` to those of the batch.
    """

    bases: Tensor

    def __init__(self, channels: int, num_bases: int, num_stages: int, momentum: float) -> None:
        super().__init__()
        self.num_stages, self.momentum = num_stages, momentum
        bases = torch.randn(1, channels, num_bases) * math.sqrt(2 / num_bases)
        self.register_buffer("bases", F.normalize(bases, dim=1))

    def forward(self, x: Tensor) -> Tensor:
        places = x.flatten(2)  # [N, C, n]
        with torch.no_grad():
            bases, shares = self.fitted(places)
        if self.training:
            mean = F.normalize(bases.mean(dim=0, keepdim=True), dim=1)
            self.bases = (1 - self.momentum) * self.bases + self.momentum * mean
        return (bases @ shares.transpose(1, 2)).reshape(x.shape)

    def fitted(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """places [N, C, n] -> bases [N, C, k], and the share [N, n, k] that each base has in each place."""
        bases = self.bases.expand(places.shape[0], -1, -1)
        shares = torch.softmax(places.transpose(1, 2) @ bases, dim=2)
        for stage in range(self.num_stages):
            if stage:
                shares = torch.softmax(places.transpose(1, 2) @ bases, dim=2)
            bases = F.normalize(places @ F.normalize(shares, p=1, dim=1), dim=1)
        return bases, shares


@MODELS.register_module()
class EMAHead(DecodeHead):
    """A map beside what bases make of it. `concat_input`: the input is joined by a last convolution.

    `options` as DecodeHead takes them.
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        channels: int,
        num_classes: int,
        ema_channels: int,
        num_bases: int,
        num_stages: int,
        momentum: float = 0.1,
        *,
        concat_input: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        total = sum(self.in_channels)
        self.ema_module = ExpectationMaximization(ema_channels, num_bases, num_stages, momentum)
        self.ema_in_conv = ConvModule(total, ema_channels, 3)
        self.ema_mid_conv = bare(ema_channels, ema_channels, 1).requires_grad_(False)
        self.ema_out_conv = ConvModule(ema_channels, ema_channels, 1, activation=None)
        self.bottleneck = ConvModule(ema_channels, channels, 3)
        self.conv_cat = ConvModule(total + channels, channels, 3) if concat_input else None

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.joined(features)
        own = self.ema_in_conv(x)
        rebuilt = self.ema_out_conv(F.relu(self.ema_module(self.ema_mid_conv(own))))
        out = self.bottleneck(F.relu(own + rebuilt))
        if self.conv_cat is not None:
            out = self.conv_cat(torch.cat([x, out], dim=1))
        return self.classified(out)
