"""An FCN head with a block between its two convolutions."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from zoo.models.segmentation.fcn_head import FCNHead


class BlockHead(FCNHead):
    """The base of these heads. `options` as FCNHead takes them."""

    def __init__(
        self, in_channels: int | Sequence[int], in_index: int | Sequence[int], channels: int, **options: Any
    ) -> None:
        super().__init__(in_channels, in_index, channels, num_convs=2, **options)

    def related(self, x: Tensor) -> Tensor:
        """[N, channels, h, w] -> the same shape: what the block makes of it."""
        raise NotImplementedError

    def convolved(self, x: Tensor) -> Tensor:
        """A convolution, the block, a convolution."""
        first, second = self.convs
        out: Tensor = second(self.related(first(x)))
        return out
