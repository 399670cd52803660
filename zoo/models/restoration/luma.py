"""The luma of BT.601, as papers on super-resolution and MATLAB's rgb2ycbcr have it: 16..235 of 255."""

import torch
from torch import Tensor

WEIGHTS = (65.481 / 255, 128.553 / 255, 24.966 / 255)  # of red, green and blue in Y
RGB_PER_LUMA = 255 / 219  # what a change of Y adds to red, green and blue each, where Cb and Cr stay


def luma(rgb: Tensor) -> Tensor:
    """Float [N, 3, H, W], RGB, 0..1 -> Y [N, 1, H, W] without its offset of 16/255, so that differences keep it."""
    weights = torch.tensor(WEIGHTS, dtype=rgb.dtype, device=rgb.device).reshape(1, 3, 1, 1)
    return (rgb * weights).sum(dim=1, keepdim=True)
