"""Resizing of feature maps and logits."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor


def resize(x: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """[N, C, h, w] -> [N, C, *size], bilinear."""
    return F.interpolate(x, size=tuple(size), mode="bilinear", align_corners=align_corners)
