"""StandardRoIHead.predict_bbox: a fixed number of detections for each image.

Source: Ren et al., Faster R-CNN, NeurIPS 2015.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mmdet.models.roi_heads import StandardRoIHead
from torch import Tensor

from rewriters.mmdetection.class_boxes import class_detections
from rewriters.mmdetection.coders import decoded
from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.patching.constants import as_ints
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.image_size import ImageSize, clip_boxes
from rewriters.torchvision_detection.multi_scale_roi_align import with_image_index


@rewrites(StandardRoIHead, "predict_bbox", reason=EACH_IMAGE, written_for=WRITTEN_FOR)
def predict_bbox_padded(
    _original: Callable[..., Any],
    self: Any,
    x: Sequence[Tensor],
    batch_img_metas: Any,
    rpn_results_list: Sequence[Any],
    rcnn_test_cfg: Any,
    rescale: bool = False,
) -> Any:
    """[proposals [N, P, 4]] -> [the padded results of the whole batch]."""
    if rescale or rcnn_test_cfg is None:
        return NotImplemented
    (proposals,) = (result.bboxes for result in rpn_results_list)
    results = self._bbox_forward(x, with_image_index(proposals))
    scores = class_scores(self.bbox_head, results["cls_score"], proposals)
    boxes = class_boxes(self.bbox_head, results["bbox_pred"], proposals, batch_img_metas[0]["img_shape"])
    return class_detections(boxes, scores, counting(scores, proposals, rcnn_test_cfg), rcnn_test_cfg)


def class_scores(head: Any, logits: Tensor, proposals: Tensor) -> Tensor:
    """Logits [N * P, C + 1], the last of the background -> scores [N, P, C]."""
    custom = head.custom_cls_channels
    scores: Tensor = head.loss_cls.get_activation(logits) if custom else logits.softmax(dim=-1)
    return scores[..., :-1].reshape(-1, *as_ints(proposals.shape[1:2]), head.num_classes)


def class_boxes(head: Any, codes: Tensor | None, proposals: Tensor, image_size: ImageSize) -> Tensor:
    """Codes [N * P, C * 4] or [N * P, 4] of proposals [N, P, 4] -> boxes [N, P, C or 1, 4]."""
    if codes is None:
        return clip_boxes(proposals, image_size).unsqueeze(2)
    slots = as_ints(proposals.shape[1:2])[0]
    copies = 1 if head.reg_class_agnostic else head.num_classes
    priors = proposals.unsqueeze(2).expand(-1, -1, copies, -1)
    return decoded(head.bbox_coder, priors, codes.reshape(-1, slots, copies, 4), image_size)


def counting(scores: Tensor, proposals: Tensor, cfg: Any) -> Tensor:
    """bool [N, P, C]: scores above the threshold, of proposals that are there."""
    above: Tensor = scores > float(cfg.score_thr)
    return above & used(proposals).unsqueeze(-1)


def used(boxes: Tensor) -> Tensor:
    """bool [N, P] of boxes [N, P, 4]: an empty slot is a box of zeros."""
    return (boxes != 0).any(dim=-1)
