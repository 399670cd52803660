"""image_masks: masks are pasted in the graph, those of used slots alone."""

from typing import Any

from torch import Tensor

import zoo.contract.image_masks
from rewriters.ops.used_rows import to_slots, used_rows
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.mask_pasting import pasted_masks


@rewrites(
    zoo.contract.image_masks,
    "image_masks",
    reason="takes masks that torchvision pasted in a loop over the objects of one image; the padded batch has those "
    "inside the boxes",
    written_for="zooport 0.1",
)
def image_masks_in_graph(
    original: Any, detections: list[dict[str, Tensor]], images: Tensor, image_sizes: Tensor | None
) -> list[Tensor]:
    """[{"boxes" [N, K, 4], "labels" [N, K], "masks" [N, K, 1, m, m]}] -> [bool [N, K, H, W]]; false in empty slots."""
    (detection,) = detections
    labels, masks, boxes = detection["labels"], detection["masks"], detection["boxes"]
    slots = labels.shape[1]
    used = (labels >= 0).reshape(-1)
    ends = None
    if image_sizes is not None:
        sizes = image_sizes.to(boxes.dtype).unsqueeze(1).expand(-1, slots, 2)
        ends = used_rows(sizes.reshape(-1, 2), used)
    size = images.shape[-2], images.shape[-1]
    pasted = pasted_masks(
        used_rows(masks.reshape(-1, *masks.shape[-2:]), used), used_rows(boxes.reshape(-1, 4), used), size, ends
    )
    pixels = to_slots(pasted >= zoo.contract.image_masks.THRESHOLD, used)
    return [pixels.reshape(-1, slots, *pixels.shape[1:])]
