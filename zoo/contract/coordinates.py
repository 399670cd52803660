"""From the detector's own resized images back to the tensor that was given to the model."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def in_given_frame(boxes: Tensor, resized: Sequence[Any], frame: Tensor) -> Tensor:
    """Boxes [N, ..., 4] in pixels of the resized images -> clipped to those, in pixels of the tensor given.

    `resized`: (h, w) of each resized image; inside an export one entry for the batch, numbers or int64 [B, 2].
    `frame`: (h, w) of the images in the tensor given, int64 [B, 2]. B: one size for all, or one for each image.
    """
    sizes = torch.cat([size if isinstance(size, Tensor) else torch.tensor([tuple(size)]) for size in resized])
    per_box = [-1, *[1] * (boxes.dim() - 2), 4]
    bounds = sizes.flip(-1).repeat(1, 2).to(boxes.dtype).reshape(per_box)
    back = (frame.to(boxes.dtype) / sizes.to(boxes.dtype)).flip(-1).repeat(1, 2).reshape(per_box)
    return torch.minimum(boxes.clamp(min=0), bounds) * back


def size_tensor(height: Any, width: Any) -> Tensor:
    """int64 [B, 2] of two sizes that a tracer may follow: numbers, symbolic numbers, or tensors of B (or no) axes."""
    sides = [
        side.reshape(-1) if isinstance(side, Tensor) else torch.scalar_tensor(side, dtype=torch.int64).reshape(1)
        for side in (height, width)
    ]
    return torch.stack(sides, dim=-1)
