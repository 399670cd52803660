"""Sizes of the resized images: plain numbers where the target fixes them, a tensor where the graph computes them.

A rewriter asks the image size that it is given, not the target: behind SSD's own fixed resize everything is fixed,
whatever the input may be.
"""

from typing import Any

import torch
from torch import Tensor
from torchvision.ops import clip_boxes_to_image

from rewriters.patching.constants import static_size

ImageSize = tuple[int, int] | Tensor
"""(h, w) of every image of the batch, or int64 [1, 2] for every image, or int64 [N, 2] with a size for each."""


def map_size(feature: Tensor, image_size: ImageSize) -> Any:
    """(h, w) of a feature map [..., h, w]: plain ints for a fixed image size, else what the tracer follows."""
    return feature.shape[-2:] if isinstance(image_size, Tensor) else static_size(feature)


def clip_boxes(boxes: Tensor, image_size: ImageSize) -> Tensor:
    """Boxes [N, ..., 4] clipped to their image. As torchvision.ops.clip_boxes_to_image for one fixed size."""
    if not isinstance(image_size, Tensor):
        clipped: Tensor = clip_boxes_to_image(boxes, image_size)
        return clipped
    bounds = image_size.flip(-1).repeat(1, 2).to(boxes.dtype)
    return torch.minimum(boxes.clamp(min=0), bounds.reshape(-1, *[1] * (boxes.dim() - 2), 4))
