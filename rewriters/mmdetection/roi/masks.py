"""predict_mask of the RoI heads: only slots that hold a detection go through the mask heads.

Source: He et al., Mask R-CNN, ICCV 2017.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmdet.models.roi_heads import CascadeRoIHead, StandardRoIHead
from mmdet.models.roi_heads.mask_heads import FCNMaskHead
from torch import Tensor

from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.ops.used_rows import to_slots, used_rows
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.multi_scale_roi_align import with_image_index
from rewriters.torchvision_detection.roi_heads_branches import of_class
from zoo.errors import ExportError

REASON = "splits the masks of the images, which freezes the batch size, and pastes them in a loop over the objects"


@rewrites(StandardRoIHead, "predict_mask", reason=REASON, written_for=WRITTEN_FOR)
def predict_mask_padded(
    _original: Callable[..., Any],
    self: Any,
    x: Sequence[Tensor],
    batch_img_metas: Any,
    results_list: Sequence[Any],
    rescale: bool = False,
) -> Any:
    """[the padded results of the batch] -> the same with masks [N, K, 1, m, m], probabilities in cells of boxes."""
    return with_masks(results_list, [self.mask_head], lambda rois: [self._mask_forward(x, rois)])


@rewrites(CascadeRoIHead, "predict_mask", reason=REASON, written_for=WRITTEN_FOR)
def predict_masks_of_stages(
    _original: Callable[..., Any],
    self: Any,
    x: Sequence[Tensor],
    batch_img_metas: Any,
    results_list: Sequence[Any],
    rescale: bool = False,
) -> Any:
    """As predict_mask_padded; a probability is the mean of the stages'."""
    stages = range(self.num_stages)
    return with_masks(
        results_list, list(self.mask_head), lambda rois: [self._mask_forward(stage, x, rois) for stage in stages]
    )


def with_masks(
    results_list: Sequence[Any], heads: Sequence[Any], forward: Callable[[Tensor], Sequence[Any]]
) -> Sequence[Any]:
    """`forward`: rows [R, 5] of image and box -> what each mask head gives. Raises ExportError for other heads."""
    for head in heads:
        if type(head) is not FCNMaskHead:
            raise ExportError(f"mask head {type(head).__name__}: zooport exports FCNMaskHead")
    (found,) = results_list
    used = (found.labels >= 0).reshape(-1)
    rows = forward(used_rows(with_image_index(found.bboxes), used))
    labels = used_rows(found.labels.reshape(-1), used)
    stages = [
        (stage["mask_preds"] if head.class_agnostic else of_class(stage["mask_preds"], labels)).sigmoid()
        for head, stage in zip(heads, rows, strict=True)
    ]
    masks: Tensor = to_slots(torch.stack(stages).mean(dim=0) if len(stages) > 1 else stages[0], used)
    found.masks = masks.reshape(-1, found.labels.shape[1], *masks.shape[1:])
    return results_list
