"""CARAFE: enlarging a map by kernels that the model predicts for each place.

Source: Wang et al., CARAFE: Content-Aware ReAssembly of FEatures, ICCV 2019, https://arxiv.org/abs/1905.02188.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def carafe_forward(
    features: Tensor,
    masks: Tensor,
    rfeatures: Tensor,
    routput: Tensor,
    rmasks: Tensor,
    output: Tensor,
    *,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    """As carafe_naive_forward; the other tensors are scratch memory of the CUDA kernel."""
    carafe_naive_forward(
        features, masks, output, kernel_size=kernel_size, group_size=group_size, scale_factor=scale_factor
    )


def carafe_naive_forward(
    features: Tensor, masks: Tensor, output: Tensor, *, kernel_size: int, group_size: int, scale_factor: int
) -> None:
    """Writes into `output` [N, C, s * H, s * W] sums of windows of `features` [N, C, H, W], weighed by `masks`.

    `masks` [N, groups * kernel_size**2, s * H, s * W]: the kernel of each place, one for each group of channels.
    Windows reach over the border to zeros.
    """
    height, width = features.shape[2:]
    grouped = torch.unflatten(output, 1, (group_size, -1)).zero_()
    kernels = torch.unflatten(masks, 1, (group_size, kernel_size**2)).unsqueeze(2)
    padded = F.pad(features, [kernel_size // 2] * 4)
    for point in range(kernel_size**2):
        top, left = divmod(point, kernel_size)
        moved = padded[:, :, top : top + height, left : left + width]
        enlarged = moved.repeat_interleave(scale_factor, 2).repeat_interleave(scale_factor, 3)
        grouped += torch.unflatten(enlarged, 1, (group_size, -1)) * kernels[:, :, :, point]
