"""PAAHead.predict_by_feat: whole anchors are candidates, for each class, and boxes vote.

Source: Kim and Lee, Probabilistic Anchor Assignment with IoU Prediction, ECCV 2020.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmdet.models.dense_heads import PAAHead
from torch import Tensor

from rewriters.mmdetection.candidates import gather_priors, map_priors, map_rows, number_of_candidates
from rewriters.mmdetection.class_boxes import class_detections
from rewriters.mmdetection.coders import decoded
from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.dense import level_pairs
from rewriters.torchvision_detection.padded import gather_rows

NEAR, SPREAD = 0.01, 0.025  # mmdetection's: the overlap above which a box votes, and how fast votes fall with it


@rewrites(
    PAAHead,
    "predict_by_feat",
    reason=EACH_IMAGE,
    written_for=WRITTEN_FOR,
    bypasses=("_predict_by_feat_single", "_bbox_post_process", "score_voting"),
)
def predict_padded(
    _original: Callable[..., Any],
    self: Any,
    cls_scores: Sequence[Tensor],
    bbox_preds: Sequence[Tensor],
    score_factors: Sequence[Tensor],
    batch_img_metas: Any = None,
    cfg: Any = None,
    rescale: bool = False,
    with_nms: bool = True,
) -> Any:
    """As heads.dense. The score of a pair is the geometric mean of its class and of the anchor's overlap."""
    if rescale or not with_nms:
        return NotImplemented
    cfg = self.test_cfg if cfg is None else cfg
    scores = [
        (map_rows(classes, self.cls_out_channels).sigmoid() * map_rows(factor, 1).sigmoid()).sqrt()
        for classes, factor in zip(cls_scores, score_factors, strict=True)
    ]
    best_class = [level.amax(dim=-1, keepdim=True) for level in scores]
    ranks, rows, _ = level_pairs(best_class, number_of_candidates(self, cfg), fixed=has_fixed_size())
    codes = gather_rows(torch.cat([map_rows(level, 4) for level in bbox_preds], dim=1), rows)
    image_size = batch_img_metas[0]["img_shape"]
    boxes = decoded(self.bbox_coder, gather_priors(map_priors(self, cls_scores), rows), codes, image_size)
    of_class = gather_rows(torch.cat(scores, dim=1), rows)
    of_class = torch.where(torch.isfinite(ranks).unsqueeze(-1), of_class, 0.0)  # what fills up a level
    (detections,) = class_detections(boxes.unsqueeze(2), of_class, of_class > cfg.score_thr, cfg)
    if self.with_score_voting:
        detections.bboxes = voted(detections, boxes, of_class, cfg.score_thr)
    return [detections]


def voted(detections: Any, boxes: Tensor, scores: Tensor, score_thr: float) -> Tensor:
    """The mean [N, K, 4] of the candidates near each detection that have its class, weighed by overlap and score.

    Candidates: boxes [N, M, 4], scores [N, M, C], all those above the threshold, also those that NMS dropped.
    """
    classes = detections.labels.clamp(min=0).unsqueeze(1).expand(-1, scores.shape[1], -1)
    share = scores.gather(2, classes).transpose(1, 2)  # [N, K, M]
    overlaps = pairwise_overlaps(detections.bboxes, boxes)
    weights = torch.exp(-((1 - overlaps) ** 2) / SPREAD) * share
    weights = torch.where((overlaps > NEAR) & (share > score_thr), weights, 0.0)
    mean = weights @ boxes / weights.sum(dim=-1, keepdim=True)
    return torch.where((detections.labels >= 0).unsqueeze(-1), mean, 0.0)


def pairwise_overlaps(ours: Tensor, theirs: Tensor) -> Tensor:
    """The intersection over union of boxes [N, K, 4] with boxes [N, M, 4] -> [N, K, M], as bbox_overlaps has it."""
    first, second = ours.unsqueeze(2), theirs.unsqueeze(1)
    sides = torch.minimum(first[..., 2:], second[..., 2:]) - torch.maximum(first[..., :2], second[..., :2])
    sides = sides.clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    union = _areas(first) + _areas(second) - shared
    return shared / union.clamp(min=1e-6)


def _areas(boxes: Tensor) -> Tensor:
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
