"""What mmseg's decode heads share: which feature maps they take, and the last layer."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from zoo.models.segmentation.resize import resize


class DecodeHead(nn.Module):
    """The base of decode heads: feature maps of a backbone -> logits [N, num_classes, h, w].

    `in_index` says which maps a head takes, `in_channels` how many channels each of them has: one int each, or as many
    as there are maps. `channels` are those of the map that the last layer classifies. `loss_weight` is that of the
    head's loss in training. Raises ValueError where in_channels and in_index are not of one length.
    """

    trained_only: ClassVar[tuple[str, ...]] = ()
    """mmseg's names of the head's layers that training alone runs. They are not here; a checkpoint's are dropped."""

    def __init__(
        self,
        in_channels: int | Sequence[int],
        channels: int,
        num_classes: int,
        in_index: int | Sequence[int] = -1,
        dropout_ratio: float = 0.1,
        loss_weight: float = 1.0,
        *,
        align_corners: bool = False,
    ) -> None:
        super().__init__()
        self.in_channels = (in_channels,) if isinstance(in_channels, int) else tuple(in_channels)
        self.in_index = (in_index,) if isinstance(in_index, int) else tuple(in_index)
        if len(self.in_channels) != len(self.in_index):
            raise ValueError(f"in_channels has {len(self.in_channels)} entries and in_index {len(self.in_index)}")
        self.num_classes = num_classes
        self.align_corners = align_corners
        self.loss_weight = loss_weight
        self.dropout = nn.Dropout2d(dropout_ratio)
        self.conv_seg = nn.Conv2d(channels, num_classes, 1)

    def selected(self, features: Sequence[Tensor]) -> list[Tensor]:
        """The maps of `in_index` (mmseg's `multiple_select`)."""
        return [features[i] for i in self.in_index]

    def joined(self, features: Sequence[Tensor]) -> Tensor:
        """The map of `in_index`; several are resized to the first one's size and concatenated (`resize_concat`)."""
        first, *others = self.selected(features)
        size = first.shape[2:]
        return torch.cat([first] + [resize(f, size, self.align_corners) for f in others], dim=1) if others else first

    def classified(self, x: Tensor) -> Tensor:
        """[N, channels, h, w] -> logits [N, num_classes, h, w]."""
        logits: Tensor = self.conv_seg(self.dropout(x))
        return logits
