"""The decode head of the disentangled non-local network.

Source: Yin et al., Disentangled Non-Local Neural Networks, ECCV 2020; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.context_heads.block_head import BlockHead
from zoo.models.segmentation.context_heads.nl_head import MODES, NonLocal
from zoo.registry import MODELS


class DisentangledNonLocal(NonLocal):
    """[N, C, h, w] -> the same: what pairs of places say without their means, and one mean weighed by each place alone.

    `temperature` divides the similarities of mode "embedded_gaussian". Other arguments as NonLocal takes them.
    """

    def __init__(self, channels: int, temperature: float, **options: Any) -> None:
        super().__init__(channels, **options)
        self.conv_mask = nn.Conv2d(channels, 1, 1)
        self.factor /= temperature

    def forward(self, x: Tensor) -> Tensor:
        query, key = self.theta(x).flatten(2).transpose(1, 2), self.phi(x).flatten(2)
        query, key = query - query.mean(dim=-2, keepdim=True), key - key.mean(dim=-1, keepdim=True)
        value = self.g(x).flatten(2).transpose(1, 2)
        own = torch.softmax(self.conv_mask(x).flatten(2), dim=-1)  # of each place alone
        return self.joined(x, self.weights(query, key) @ value + own @ value)


@MODELS.register_module()
class DNLHead(BlockHead):
    """A disentangled block between two convolutions, with its arguments. `options` as FCNHead takes them."""

    def __init__(
        self,
        in_channels: int | Sequence[int],
        in_index: int | Sequence[int],
        channels: int,
        reduction: int = 2,
        mode: str = MODES[0],
        temperature: float = 0.05,
        *,
        use_scale: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, in_index, channels, **options)
        self.dnl_block = DisentangledNonLocal(
            channels, temperature, reduction=reduction, mode=mode, use_scale=use_scale
        )

    def related(self, x: Tensor) -> Tensor:
        out: Tensor = self.dnl_block(x)
        return out
