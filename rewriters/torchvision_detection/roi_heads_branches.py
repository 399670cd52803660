"""RoIHeads.forward with a mask or keypoint branch: only slots that hold a detection go through it.

Boxes are as in every other R-CNN. Empty slots are left out of pooling and head by zooport::used_rows, and are zeros
again after zooport::to_slots.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchvision.models.detection.roi_heads import RoIHeads

from rewriters.ops.heatmap_keypoints import heatmap_keypoints
from rewriters.ops.used_rows import to_slots, used_rows
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.image_size import ImageSize
from rewriters.torchvision_detection.multi_scale_roi_align import with_image_index
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from rewriters.torchvision_detection.whole_batch import WholeBatch, is_whole_batch


@rewrites(
    RoIHeads,
    "forward",
    reason="the branches for masks and keypoints loop over the images, which freezes the batch size, and would run "
    "for every empty slot",
    written_for=WRITTEN_FOR,
)
def forward_used_slots(
    original: Callable[..., Any],
    self: RoIHeads,
    features: dict[str, Tensor],
    proposals: list[Tensor],
    image_shapes: list[ImageSize],
    targets: None = None,
) -> Any:
    """[proposals [N, P, 4]] -> ([{"boxes" [N, K, 4], "labels" [N, K], "scores" [N, K], ...}], {}).

    With masks: "masks" [N, K, 1, h, w]. With keypoints: "keypoints" [N, K, P, 3] and "keypoints_scores" [N, K, P].
    """
    if not is_whole_batch(proposals, image_shapes) or not (self.has_mask() or self.has_keypoint()):
        return NotImplemented
    logits, regression = self.box_predictor(self.box_head(self.box_roi_pool(features, proposals, image_shapes)))
    (boxes,), (scores,), (labels,) = self.postprocess_detections(logits, regression, proposals, image_shapes)
    result = {"boxes": boxes, "labels": labels, "scores": scores}
    if self.has_mask():
        result["masks"] = _masks(self, features, boxes, labels, image_shapes)
    if self.has_keypoint():
        keypoints = _keypoints(self, features, boxes, labels, image_shapes)
        place, result["keypoints_scores"] = keypoints[..., :2], keypoints[..., 2]
        result["keypoints"] = torch.cat([place, torch.ones_like(place[..., :1])], dim=-1)
    return [result], {}


def _masks(
    heads: RoIHeads, features: dict[str, Tensor], boxes: Tensor, labels: Tensor, image_shapes: list[ImageSize]
) -> Tensor:
    used = (labels >= 0).reshape(-1)
    rois = used_rows(with_image_index(boxes), used)
    logits = heads.mask_predictor(heads.mask_head(heads.mask_roi_pool(features, WholeBatch([rois]), image_shapes)))
    masks: Tensor = to_slots(of_class(logits, used_rows(labels.reshape(-1), used)).sigmoid(), used)
    return masks.reshape(-1, labels.shape[1], *masks.shape[1:])


def of_class(logits: Tensor, labels: Tensor) -> Tensor:
    """logits [R, C, h, w], labels int64 [R] -> [R, 1, h, w], each row's own class; never asks for R (see used_rows)."""
    of_class = labels[:, None] == torch.arange(logits.shape[1], device=labels.device)
    lowest = torch.finfo(logits.dtype).min
    return torch.where(of_class[:, :, None, None], logits, lowest).amax(dim=1, keepdim=True)


def _keypoints(
    heads: RoIHeads, features: dict[str, Tensor], boxes: Tensor, labels: Tensor, image_shapes: list[ImageSize]
) -> Tensor:
    """-> [N, K, P, 3]: x, y, score; pixels of the resized image."""
    used = (labels >= 0).reshape(-1)
    run = torch.cat([torch.ones_like(used[:1]), used[1:]])  # ONNX Runtime's Scan refuses to run over nothing
    rois = used_rows(with_image_index(boxes), run)
    pooled = heads.keypoint_roi_pool(features, WholeBatch([rois]), image_shapes)
    maps = heads.keypoint_predictor(heads.keypoint_head(pooled))
    slots: Tensor = to_slots(heatmap_keypoints(maps, rois[:, 1:]), run)
    keypoints = torch.where(used[:, None, None], slots, 0.0)
    return keypoints.reshape(-1, labels.shape[1], *keypoints.shape[1:])
