"""What a graph does with its images before the model: another order of the channels, mean and standard deviation."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

CHANNELS = 3


class Normalization(nn.Module):
    """images float32 [N, 3, H, W], RGB, 0..1 -> (images in the model's order - mean) / std.

    `order`: "rgb" or "bgr", that of the model. `mean`, `std`: of each of its channels, in units of 0..1; None for
    neither.
    """

    mean: Tensor | None
    std: Tensor | None
    channels: Tensor | None

    def __init__(self, mean: Sequence[float] | None, std: Sequence[float] | None, order: str = "rgb") -> None:
        super().__init__()
        for name, values in (("mean", mean), ("std", std)):
            buffer = None if values is None else torch.tensor(values).view(1, len(values), 1, 1)
            self.register_buffer(name, buffer, persistent=False)
        channels = torch.arange(CHANNELS - 1, -1, -1) if order == "bgr" else None
        self.register_buffer("channels", channels, persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Channel by channel."""
        if self.channels is not None:
            images = images.index_select(1, self.channels)
        return images if self.mean is None or self.std is None else (images - self.mean) / self.std
