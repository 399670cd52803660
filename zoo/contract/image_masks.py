"""Masks in pixels of the tensor given, as torchvision's own detectors paste them."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

THRESHOLD = 0.5


def image_masks(
    detections: Sequence[dict[str, Tensor]],
    images: Tensor,
    image_sizes: Tensor | None,  # noqa: ARG001 - torchvision has pasted to these sizes; the rewriter needs them
) -> list[Tensor]:
    """bool [n, H, W] for each image: true where the pasted probability is 0.5 or more.

    `detections`: torchvision's dictionary of each image, whose "masks" [n, 1, h, w] are pasted to that image. `images`
    [N, 3, H, W] and `image_sizes` int64 [N, 2] or None as given to the model; past the end of its own image a mask is
    false. Inside an export a rewriter pastes in the graph, for the padded batch: one entry [N, K, H, W].
    """
    height, width = images.shape[-2:]
    return [_padded(detection["masks"][:, 0] >= THRESHOLD, height, width) for detection in detections]


def _padded(masks: Tensor, height: int, width: int) -> Tensor:
    """masks [n, h, w] -> [n, height, width]."""
    return F.pad(masks, (0, width - masks.shape[-1], 0, height - masks.shape[-2]))
