"""Detections of a fixed number for each cloud: the best candidates first, and only these are decoded and suppressed."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewriters.ops.rotated_nms_keep import rotated_nms_keep
from rewriters.patching.rewriter import rewrites
from rewriters.pillars.anchor_head import MapOnDemand, rows_of
from rewriters.pillars.center_head import codes_of
from rewriters.torchvision_detection.dense import best_slots
from rewriters.torchvision_detection.padded import top_rows, without
from zoo.geometry.boxes3d import BEV
from zoo.models.pillars import CenterPoint, PointPillars
from zoo.models.pillars.anchors import decoded, directed
from zoo.models.pillars.center_point import CenterMaps

REASON = (
    "keeps a data-dependent number of boxes for each cloud: dynamo refuses it, and torchscript freezes the batch size "
    "and the number of the traced cloud"
)


@rewrites(PointPillars, "postprocess_detections", reason=REASON, written_for="zooport 0.1", bypasses=("_detected",))
def point_pillars_padded(
    original: Callable[..., Any],
    self: PointPillars,
    class_logits: Tensor,
    box_codes: Tensor | MapOnDemand,
    direction_logits: Tensor | MapOnDemand,
) -> list[dict[str, Tensor]]:
    """[N, M, C], [N, M, 7], [N, M, 2] -> [{"boxes" [N, K, 7], "scores" [N, K], "labels" [N, K]}], best first."""
    scores, labels = class_logits.sigmoid().max(dim=2)
    scores, index = top_rows(without(scores, scores > self.score_thresh), self.topk_candidates, fixed=True)
    boxes = decoded(rows_of(box_codes, index), self.anchors[index])
    boxes = directed(boxes, rows_of(direction_logits, index))
    return [_suppressed(boxes, scores, labels.gather(1, index), self)]


@rewrites(CenterPoint, "postprocess_detections", reason=REASON, written_for="zooport 0.1", bypasses=("_detected",))
def center_point_padded(
    original: Callable[..., Any],
    self: CenterPoint,
    heatmap: Tensor,
    *others: Any,
) -> list[dict[str, Tensor]]:
    """The head's maps -> [{"boxes" [N, K, 7], "scores" [N, K], "labels" [N, K]}], best first."""
    pairs = self.peaks(heatmap).flatten(1)
    pairs, index = top_rows(without(pairs, pairs > self.score_thresh), self.topk_candidates, fixed=True)
    cells = index // self.num_classes
    boxes = self.decoded(codes_of(CenterMaps(heatmap, *others), cells), cells)
    return [_suppressed(boxes, pairs, index - cells * self.num_classes, self)]


def _suppressed(boxes: Tensor, scores: Tensor, labels: Tensor, model: Any) -> dict[str, Tensor]:
    """Candidates [N, M, 7], best first, empty ones with a negative score -> the best slots of those that NMS keeps."""
    seen_from_above = torch.stack([boxes[..., column] for column in BEV], dim=-1)
    keep = rotated_nms_keep(seen_from_above, scores, labels, model.nms_thresh)
    return best_slots(boxes, without(scores, keep), labels, model.detections_per_img)
