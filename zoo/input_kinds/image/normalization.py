"""Mean and standard deviation, applied by the graph itself."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Normalization(nn.Module):
    """images float32 [N, 3, H, W], 0..1 -> (images - mean) / std. `mean`, `std`: of each channel, in units of 0..1."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, torch.tensor(values).view(1, len(values), 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Channel by channel."""
        return (images - self.mean) / self.std
