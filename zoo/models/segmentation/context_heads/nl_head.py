"""The decode head of the non-local network.

Source: Wang et al., Non-local Neural Networks, CVPR 2018; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.segmentation.context_heads.block_head import BlockHead
from zoo.models.segmentation.conv_module import ConvModule, bare
from zoo.registry import MODELS

MODES = ("embedded_gaussian", "dot_product")


class NonLocal(nn.Module):
    """[N, C, h, w] -> the same, each place with what all places say, weighed by similarity.

    `reduction`: how many times fewer channels places are compared in. `mode`: "embedded_gaussian", similarities through
    a softmax, divided by the root of these channels before it if `use_scale`; "dot_product", divided by the number of
    places. Raises ValueError for another mode.
    """

    def __init__(self, channels: int, reduction: int = 2, mode: str = MODES[0], *, use_scale: bool = True) -> None:
        super().__init__()
        if mode not in MODES:
            raise ValueError(f'mode "{mode}"; expected {" or ".join(MODES)}')
        inner = max(channels // reduction, 1)
        self.mode = mode
        self.factor = inner**-0.5 if use_scale else 1.0
        self.g, self.theta, self.phi = (bare(channels, inner, 1) for _ in range(3))
        self.conv_out = ConvModule(inner, channels, 1, activation=None)

    def forward(self, x: Tensor) -> Tensor:
        query, key = self.theta(x).flatten(2).transpose(1, 2), self.phi(x).flatten(2)
        value = self.g(x).flatten(2)
        return self.joined(x, self.weights(query, key) @ value.transpose(1, 2))

    def weights(self, query: Tensor, key: Tensor) -> Tensor:
        """query [N, places, inner], key [N, inner, places] -> [N, places, places]."""
        pairs = query @ key
        return pairs / pairs.shape[-1] if self.mode == "dot_product" else torch.softmax(self.factor * pairs, dim=-1)

    def joined(self, x: Tensor, gathered: Tensor) -> Tensor:
        """The input and what was gathered, [N, places, inner]."""
        gathered = gathered.transpose(1, 2)
        out: Tensor = x + self.conv_out(gathered.reshape(*gathered.shape[:2], *x.shape[2:]))
        return out


@MODELS.register_module()
class NLHead(BlockHead):
    """A non-local block between two convolutions, with NonLocal's arguments. `options` as FCNHead takes them."""

    def __init__(
        self,
        in_channels: int | Sequence[int],
        in_index: int | Sequence[int],
        channels: int,
        reduction: int = 2,
        mode: str = MODES[0],
        *,
        use_scale: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, in_index, channels, **options)
        self.nl_block = NonLocal(channels, reduction, mode, use_scale=use_scale)

    def related(self, x: Tensor) -> Tensor:
        out: Tensor = self.nl_block(x)
        return out
