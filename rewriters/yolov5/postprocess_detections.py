"""YOLOv5: a fixed number of detections is kept for each image."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from rewriters.ops.class_nms_keep import class_nms_keep
from rewriters.ops.nms_keep import nms_keep
from rewriters.patching.constants import as_ints
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.dense import best_slots
from rewriters.torchvision_detection.padded import gather_rows, top_rows, without
from zoo.models.detection.yolov5 import YOLOv5


@rewrites(
    YOLOv5,
    "postprocess_detections",
    reason="keeps a data-dependent number of boxes for each image, with an early return where there are none: dynamo "
    "refuses it, and torchscript freezes the batch size and the branch that the traced image took",
    written_for="zooport 0.1",
    bypasses=("_suppressed",),
)
def postprocess_detections_padded(
    original: Callable[..., Any], self: YOLOv5, boxes: Tensor, scores: Tensor
) -> list[dict[str, Tensor]]:
    """boxes [N, M, 4], scores [N, M, C] -> [{"boxes" [N, K, 4], "scores" [N, K], "labels" [N, K]}], best first; empty
    slots hold zeros and label -1.
    """
    best, labels = scores.max(dim=2)
    best, index = top_rows(without(best, best > self.score_thresh), self.topk_candidates, fixed=has_fixed_size())
    boxes, labels = gather_rows(boxes, index), labels.gather(1, index)
    if self.class_agnostic:
        kept = nms_keep(boxes, best, self.nms_thresh)
    else:
        kept = class_nms_keep(boxes, best, labels, *as_ints(scores.shape[2:]), self.nms_thresh)
    return [best_slots(boxes, without(best, kept), labels, self.detections_per_img)]
