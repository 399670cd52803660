"""CascadeRoIHead.predict_bbox: each stage refines the boxes of the one before, all of the batch at once.

Source: Cai and Vasconcelos, Cascade R-CNN, CVPR 2018.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmdet.models.roi_heads import CascadeRoIHead
from torch import Tensor

from rewriters.mmdetection.class_boxes import class_detections
from rewriters.mmdetection.roi.standard import class_boxes, class_scores, counting
from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.patching.constants import as_ints
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.image_size import ImageSize
from rewriters.torchvision_detection.multi_scale_roi_align import with_image_index


@rewrites(
    CascadeRoIHead,
    "predict_bbox",
    reason=EACH_IMAGE,
    written_for=WRITTEN_FOR,
    bypasses=("_refine_roi",),
)
def predict_bbox_padded(
    _original: Callable[..., Any],
    self: Any,
    x: Sequence[Tensor],
    batch_img_metas: Any,
    rpn_results_list: Sequence[Any],
    rcnn_test_cfg: Any,
    rescale: bool = False,
    **options: Any,
) -> Any:
    """[proposals [N, P, 4]] -> [the padded results of the whole batch]. The score is the mean of the stages' logits."""
    if rescale or rcnn_test_cfg is None:
        return NotImplemented
    (proposals,) = (result.bboxes for result in rpn_results_list)
    image_size = batch_img_metas[0]["img_shape"]
    boxes, codes = proposals, None
    logits: list[Tensor] = []
    for stage in range(self.num_stages):
        if stage > 0:
            boxes = refined(self.bbox_head[stage - 1], logits[-1], codes, boxes, image_size)
        results = self._bbox_forward(stage=stage, x=x, rois=with_image_index(boxes), **options)
        logits.append(results["cls_score"])
        codes = results["bbox_pred"]
    head = self.bbox_head[-1]
    scores = class_scores(head, torch.stack(logits).mean(dim=0), boxes)
    final = class_boxes(head, codes, boxes, image_size)
    return class_detections(final, scores, counting(scores, proposals, rcnn_test_cfg), rcnn_test_cfg)


def refined(head: Any, logits: Tensor, codes: Tensor | None, boxes: Tensor, image_size: ImageSize) -> Tensor:
    """Boxes [N, P, 4], moved by the code of the class that has the best of logits [N * P, C + 1]."""
    if head.custom_activation:
        logits = head.loss_cls.get_activation(logits)
    moved = class_boxes(head, codes, boxes, image_size)
    if head.reg_class_agnostic:
        return moved.squeeze(2)
    label = logits[:, :-1].argmax(dim=1).reshape(-1, *as_ints(boxes.shape[1:2]))
    index = label[..., None, None].expand(-1, -1, 1, 4)
    return moved.gather(2, index).squeeze(2)
