"""YOLOV3Head.predict_by_feat: candidates of all levels together.

Source: Redmon and Farhadi, YOLOv3: An Incremental Improvement, https://arxiv.org/abs/1804.02767.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmdet.models.dense_heads import YOLOV3Head
from mmdet.structures.bbox import get_box_tensor
from torch import Tensor

from rewriters.mmdetection.candidates import (
    gather_priors,
    instances,
    large_enough,
    map_rows,
    number_of_candidates,
    suppressed,
    with_column,
)
from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.patching.constants import static_size
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.dense import level_pairs
from rewriters.torchvision_detection.padded import gather_rows, without


@rewrites(
    YOLOV3Head,
    "predict_by_feat",
    reason=EACH_IMAGE,
    written_for=WRITTEN_FOR,
    bypasses=("_bbox_post_process",),
)
def predict_padded(
    _original: Callable[..., Any],
    self: Any,
    pred_maps: Sequence[Tensor],
    batch_img_metas: Any = None,
    cfg: Any = None,
    rescale: bool = False,
    with_nms: bool = True,
) -> Any:
    """As heads.dense. A pair's rank is its class score, where the objectness is large enough."""
    if rescale or not with_nms:
        return NotImplemented
    cfg = self.test_cfg if cfg is None else cfg
    maps = torch.cat([map_rows(level, self.num_attrib) for level in pred_maps], dim=1)
    objectness, of_class = maps[..., 4].sigmoid(), maps[..., 5:].sigmoid()
    if cfg.get("conf_thr", -1) > 0:
        of_class = without(of_class, (objectness >= cfg.conf_thr).unsqueeze(-1))
    best, rows, labels = level_pairs([of_class], number_of_candidates(self, cfg), fixed=has_fixed_size())
    chosen = gather_rows(maps[..., :4], rows)
    codes = torch.cat((chosen[..., :2].sigmoid(), chosen[..., 2:]), dim=-1)
    priors = gather_priors(anchors_and_strides(self, pred_maps), rows)
    boxes = get_box_tensor(self.bbox_coder.decode(priors[..., :4], codes, priors[..., 4:]))
    valid = (best > cfg.get("score_thr", 0)) & large_enough(boxes, cfg)
    scores = without(best * objectness.gather(1, rows), valid)
    scores = suppressed(boxes, scores, labels, of_class.shape[-1], cfg.get("nms"))
    return instances(boxes, scores, labels, cfg.max_per_img)


def anchors_and_strides(head: Any, maps: Sequence[Tensor]) -> list[Tensor]:
    """The anchors and the stride of each level, L x [A, 5]."""
    sizes = [static_size(level) if has_fixed_size() else level.shape[-2:] for level in maps]
    return with_column(head.prior_generator.grid_priors(sizes, device=maps[0].device), head.featmap_strides)
