"""YOLOXHead.predict_by_feat: each point is a candidate of its best class.

Source: Ge et al., YOLOX: Exceeding YOLO Series in 2021, https://arxiv.org/abs/2107.08430.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmdet.models.dense_heads import YOLOXHead
from torch import Tensor

from rewriters.mmdetection.candidates import instances, map_priors, map_rows, suppressed
from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.padded import without


@rewrites(
    YOLOXHead,
    "predict_by_feat",
    reason=EACH_IMAGE,
    written_for=WRITTEN_FOR,
    bypasses=("_bbox_post_process",),
)
def predict_padded(
    _original: Callable[..., Any],
    self: Any,
    cls_scores: Sequence[Tensor],
    bbox_preds: Sequence[Tensor],
    objectnesses: Sequence[Tensor],
    batch_img_metas: Any = None,
    cfg: Any = None,
    rescale: bool = False,
    with_nms: bool = True,
) -> Any:
    """As heads.dense. All that NMS leaves are detections; here the best `max_per_img`, which MmdetDetector sets."""
    if rescale or not with_nms:
        return NotImplemented
    cfg = self.test_cfg if cfg is None else cfg
    of_class = torch.cat([map_rows(level, self.cls_out_channels) for level in cls_scores], dim=1)
    codes = torch.cat([map_rows(level, 4) for level in bbox_preds], dim=1)
    objectness = torch.cat([map_rows(level, 1) for level in objectnesses], dim=1).squeeze(-1).sigmoid()
    best, labels = of_class.max(dim=-1)
    scores = best.sigmoid() * objectness
    boxes = self._bbox_decode(torch.cat(map_priors(self, cls_scores, with_stride=True)), codes)
    kept = suppressed(boxes, without(scores, scores >= cfg.score_thr), labels, self.cls_out_channels, cfg.get("nms"))
    return instances(boxes, kept, labels, cfg.max_per_img)
