"""RotatedFCOS: a fixed number of detections is kept for each image."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from rewriters.ops.rotated_nms_keep import rotated_nms_keep
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.dense import best_slots, level_pairs
from rewriters.torchvision_detection.padded import gather_rows, without
from zoo.models.detection.rotated_fcos import RotatedFCOS


@rewrites(
    RotatedFCOS,
    "postprocess_detections",
    reason="keeps a data-dependent number of boxes for each image, and computes their overlaps in NumPy: dynamo "
    "refuses it, and torchscript freezes the detections of the traced image",
    written_for="zooport 0.1",
    bypasses=("_suppressed",),
)
def postprocess_detections_padded(
    original: Callable[..., Any], self: RotatedFCOS, boxes: Sequence[Tensor], scores: Sequence[Tensor]
) -> list[dict[str, Tensor]]:
    """boxes [N, A, 5] and scores [N, A, C] by level -> [{"boxes" [N, K, 5], "scores" [N, K], "labels" [N, K]}], best
    first; empty slots hold zeros and label -1.
    """
    best, rows, labels = level_pairs(scores, self.topk_candidates, fixed=has_fixed_size())
    candidates = gather_rows(torch.cat(list(boxes), dim=1), rows)
    best = without(best, best > self.score_thresh)
    best = without(best, rotated_nms_keep(candidates, best, labels, self.nms_thresh))
    return [best_slots(candidates, best, labels, self.detections_per_img)]
