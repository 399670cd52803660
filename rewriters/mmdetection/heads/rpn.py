"""RPNHead.predict_by_feat: a fixed number of proposals for each image."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from mmdet.models.dense_heads import RPNHead
from torch import Tensor

from rewriters.mmdetection.candidates import (
    gather_priors,
    large_enough,
    map_priors,
    map_rows,
    number_of_candidates,
    overlap_threshold,
)
from rewriters.mmdetection.coders import decoded
from rewriters.mmdetection.heads.dense import level_ranks
from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.ops.nms_keep import nms_keep
from rewriters.patching.constants import as_ints
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.dense import best_slots
from rewriters.torchvision_detection.padded import gather_rows, without
from rewriters.torchvision_detection.region_proposal_network import best_of_levels


@rewrites(
    RPNHead,
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
    score_factors: None = None,
    batch_img_metas: Any = None,
    cfg: Any = None,
    rescale: bool = False,
    with_nms: bool = True,
) -> Any:
    """As heads.dense: proposals, whose labels are 0. Boxes suppress those of their level, or all if class-agnostic."""
    if rescale or not with_nms or score_factors is not None:
        return NotImplemented
    cfg = self.test_cfg if cfg is None else cfg
    ranks, activate = level_ranks(self, cls_scores)
    best, rows = best_of_levels(
        [level.squeeze(-1) for level in ranks], number_of_candidates(self, cfg), fixed=has_fixed_size()
    )
    codes = gather_rows(torch.cat([map_rows(level, 4) for level in bbox_preds], dim=1), rows)
    priors = gather_priors(map_priors(self, cls_scores), rows)
    levels, slots = as_ints(best.shape[1:])
    boxes = decoded(self.bbox_coder, priors, codes, batch_img_metas[0]["img_shape"])
    flat = best.reshape(-1, levels * slots)
    scores = without(activate(flat), large_enough(boxes, cfg) & (flat > -torch.inf))
    together = levels * slots if cfg.nms.get("class_agnostic", False) else slots
    rivals = scores.reshape(-1, together)
    kept = without(rivals, nms_keep(boxes.reshape(-1, together, 4), rivals, overlap_threshold(cfg.nms)))
    proposals = best_slots(
        boxes, kept.reshape(-1, levels * slots), torch.zeros_like(flat, dtype=torch.int64), cfg.max_per_img
    )
    return [SimpleNamespace(bboxes=proposals["boxes"], scores=proposals["scores"], labels=proposals["labels"])]
