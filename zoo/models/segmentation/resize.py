"""Resizing of feature maps and logits."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn


def resize(x: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """[N, C, h, w] -> [N, C, *size], bilinear."""
    return F.interpolate(x, size=tuple(size), mode="bilinear", align_corners=align_corners)


class Enlarged(nn.Module):
    """[N, C, h, w] -> [N, C, factor h, factor w], bilinear."""

    def __init__(self, factor: int, *, align_corners: bool = False) -> None:
        super().__init__()
        self.factor, self.align_corners = factor, align_corners

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[2:]
        return resize(x, (self.factor * height, self.factor * width), self.align_corners)
