"""torchvision's detectors with padded, masked tensors instead of data-dependent shapes.

A batch [N, 3, H, W] travels through torchvision's own forward methods as the only entry of their per-image lists, so
the number of images is an axis of the graph. Proposals and detections fill a fixed number of slots; an empty slot
is a box of zeros, with label -1 where it has a label.
"""

from rewriters.torchvision_detection import (
    anchor_generator,
    batch_as_one_entry,
    fcos,
    image_masks,
    multi_scale_roi_align,
    region_proposal_network,
    retina_net,
    roi_heads,
    roi_heads_branches,
    sized_batch,
    ssd,
    transform,
)

__all__ = [
    "anchor_generator",
    "batch_as_one_entry",
    "fcos",
    "image_masks",
    "multi_scale_roi_align",
    "region_proposal_network",
    "retina_net",
    "roi_heads",
    "roi_heads_branches",
    "sized_batch",
    "ssd",
    "transform",
]
