"""GeneralizedRCNNTransform: resize and pad a whole batch, and scale boxes back."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.transform import GeneralizedRCNNTransform

from rewriters.patching.constants import static_size, untraced
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.image_size import ImageSize
from rewriters.torchvision_detection.run_time_resize import resize_at_run_time
from rewriters.torchvision_detection.sized_batch import SizedBatch
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from rewriters.torchvision_detection.whole_batch import WholeBatch, is_whole_batch
from zoo.contract.coordinates import size_tensor


@rewrites(
    GeneralizedRCNNTransform,
    "forward",
    reason="resizes and pads image by image with sizes computed in the graph, which freezes the batch size",
    written_for=WRITTEN_FOR,
    bypasses=("batch_images",),
)
def forward_batch(
    original: Callable[..., Any], self: GeneralizedRCNNTransform, images: list[Any], targets: None = None
) -> Any:
    """[images [N, 3, H, W], or a SizedBatch] -> normalised, resized, padded to a multiple of size_divisible.

    The only image size of the list is an ImageSize: a tensor where the graph computes the sizes.
    """
    if not is_whole_batch(images):
        return NotImplemented
    (image,) = images
    if not has_fixed_size():
        if isinstance(image, SizedBatch):
            batch, sizes = self.normalize(image.valid_pixels()), image.image_sizes
        else:
            batch, sizes = self.normalize(image), size_tensor(*image.shape[-2:])
        batch, image_size = resize_at_run_time(self, batch, sizes)
        return ImageList(batch, WholeBatch([image_size])), None
    batch = self.normalize(image)
    size = static_size(batch)
    resized = untraced(lambda: static_size(self.resize(torch.zeros(3, *size))[0]))
    if resized != size:
        batch = F.interpolate(batch, size=resized, mode="bilinear", align_corners=False)
    bottom, right = (-side % self.size_divisible for side in resized)
    if bottom or right:
        batch = F.pad(batch, (0, right, 0, bottom))
    return ImageList(batch, WholeBatch([resized])), None


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
    image_shapes: list[ImageSize],
    original_image_sizes: list[Any],
) -> Any:
    """Boxes and keypoints of the resized image -> of the image given to the model, at the ratio of their sizes.

    Masks stay what they are inside their boxes.
    """
    if not is_whole_batch(image_shapes):
        return NotImplemented
    (detections,), (resized,), (size,) = result, image_shapes, original_image_sizes
    if has_fixed_size():
        size = int(size[0]), int(size[1])
        if size == resized:
            return result
        ratio_h, ratio_w = (torch.tensor(float(s)) / torch.tensor(float(r)) for s, r in zip(size, resized, strict=True))
    else:
        ratios = size_tensor(*size).float() / (resized if isinstance(resized, Tensor) else torch.tensor([resized]))
        ratio_h, ratio_w = ratios.unsqueeze(1).unbind(-1)
    scaled = {"boxes": detections["boxes"] * torch.stack([ratio_w, ratio_h, ratio_w, ratio_h], dim=-1)}
    if "keypoints" in detections:
        ratio = torch.stack([ratio_w, ratio_h, torch.ones_like(ratio_w)], dim=-1)
        scaled["keypoints"] = detections["keypoints"] * ratio.unsqueeze(-2)
    return [{**detections, **scaled}]
