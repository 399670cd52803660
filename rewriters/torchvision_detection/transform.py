"""GeneralizedRCNNTransform: resize and pad a whole batch by sizes that are known, and scale boxes back."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.transform import GeneralizedRCNNTransform

from rewriters.engine.constants import static_size, untraced
from rewriters.engine.fixed_size import require_fixed_size
from rewriters.engine.rewriter import rewrites
from rewriters.torchvision_detection.versions import WRITTEN_FOR


@rewrites(
    GeneralizedRCNNTransform,
    "forward",
    reason="resizes and pads image by image with sizes computed in the graph, which freezes the batch size",
    written_for=WRITTEN_FOR,
    bypasses=("batch_images",),
)
def forward_batch(
    original: Callable[..., Any], self: GeneralizedRCNNTransform, images: list[Tensor], targets: None = None
) -> tuple[ImageList, None]:
    """[images [N, 3, H, W]] -> normalised, resized, padded to a multiple of size_divisible; one size for all."""
    require_fixed_size("torchvision's R-CNN transform")
    batch = self.normalize(images[0])
    size = static_size(batch)
    resized = untraced(lambda: static_size(self.resize(torch.zeros(3, *size))[0]))
    if resized != size:
        batch = F.interpolate(batch, size=resized, mode="bilinear", align_corners=False)
    bottom, right = (-side % self.size_divisible for side in resized)
    if bottom or right:
        batch = F.pad(batch, (0, right, 0, bottom))
    return ImageList(batch, [resized]), None


@rewrites(
    GeneralizedRCNNTransform,
    "postprocess",
    reason="scales boxes [n, 4] of single images; the padded batch has boxes [N, K, 4]",
    written_for=WRITTEN_FOR,
)
def postprocess_batch(
    original: Callable[..., Any],
    self: GeneralizedRCNNTransform,
    result: list[dict[str, Tensor]],
    image_shapes: list[tuple[int, int]],
    original_image_sizes: list[Any],
) -> list[dict[str, Tensor]]:
    """Boxes of the resized image -> boxes of the image given to the model, at the ratio of their sizes."""
    (detections,), (resized,), (size,) = result, image_shapes, original_image_sizes
    size = int(size[0]), int(size[1])
    if size == resized:
        return result
    ratio_h, ratio_w = (torch.tensor(float(s)) / torch.tensor(float(r)) for s, r in zip(size, resized, strict=True))
    scale = torch.stack([ratio_w, ratio_h, ratio_w, ratio_h])
    return [{**detections, "boxes": detections["boxes"] * scale}]
