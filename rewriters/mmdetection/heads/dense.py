"""BaseDenseHead.predict_by_feat: RetinaNet, FCOS, ATSS, RTMDet, SSD and all heads that inherit it.

Source: Lin et al., Focal Loss for Dense Object Detection, ICCV 2017; as mmdetection has it, a pair of prior and class
is a candidate by its class score alone, and a centerness or IoU is multiplied afterwards.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from mmdet.models.dense_heads.base_dense_head import BaseDenseHead
from torch import Tensor

from rewriters.mmdetection.candidates import (
    gather_priors,
    instances,
    large_enough,
    map_priors,
    map_rows,
    number_of_candidates,
    suppressed,
)
from rewriters.mmdetection.coders import decoded
from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.dense import level_pairs
from rewriters.torchvision_detection.padded import gather_rows, without
from zoo.models.mmdet.dense_rows import class_ranks


@rewrites(
    BaseDenseHead,
    "predict_by_feat",
    reason=EACH_IMAGE,
    written_for=WRITTEN_FOR,
    bypasses=("_predict_by_feat_single", "_bbox_post_process"),
)
def predict_padded(
    _original: Callable[..., Any],
    self: Any,
    cls_scores: Sequence[Tensor],
    bbox_preds: Sequence[Tensor],
    score_factors: Sequence[Tensor] | None = None,
    batch_img_metas: Any = None,
    cfg: Any = None,
    rescale: bool = False,
    with_nms: bool = True,
) -> Any:
    """Maps of each level -> [the padded results of the whole batch]: bboxes [N, K, 4], scores and labels [N, K]."""
    if rescale or not with_nms:
        return NotImplemented
    image_size = batch_img_metas[0]["img_shape"]

    def boxes_of(rows: Tensor, codes: Tensor) -> Tensor:
        return decoded(self.bbox_coder, gather_priors(map_priors(self, cls_scores), rows), codes, image_size)

    return dense_detections(self, cls_scores, bbox_preds, boxes_of, cfg, score_factors)


def dense_detections(
    head: Any,
    cls_scores: Sequence[Tensor],
    bbox_preds: Sequence[Tensor],
    boxes_of: Callable[[Tensor, Tensor], Tensor],
    cfg: Any = None,
    score_factors: Sequence[Tensor] | None = None,
    *,
    width: int = 4,
) -> list[SimpleNamespace]:
    """What the dense heads do with their candidates: thresholds, factors, NMS by class, and the best slots.

    `boxes_of`: int64 [N, M], numbers of priors counted over all levels, and their codes [N, M, `width`] -> boxes
    [N, M, 4].
    """
    cfg = head.test_cfg if cfg is None else cfg
    ranks, activate = level_ranks(head, cls_scores)
    best, rows, labels = level_pairs(ranks, number_of_candidates(head, cfg), fixed=has_fixed_size())
    boxes = boxes_of(rows, gather_rows(torch.cat([map_rows(level, width) for level in bbox_preds], dim=1), rows))
    scores = activate(best)
    valid = (scores > cfg.get("score_thr", 0)) & large_enough(boxes, cfg)
    if score_factors is not None:
        factors = torch.cat([map_rows(level, 1) for level in score_factors], dim=1)
        scores = scores * gather_rows(factors, rows).squeeze(-1).sigmoid()
    scores = suppressed(boxes, without(scores, valid), labels, ranks[0].shape[-1], cfg.get("nms"))
    return instances(boxes, scores, labels, cfg.max_per_img)


def level_ranks(head: Any, cls_scores: Sequence[Tensor]) -> tuple[list[Tensor], Callable[[Tensor], Tensor]]:
    """Maps of each level -> L x [N, A, C], and what makes scores of them: see class_ranks."""
    pairs = [class_ranks(head, map_rows(level, head.cls_out_channels)) for level in cls_scores]
    return [ranks for ranks, _ in pairs], pairs[0][1]
