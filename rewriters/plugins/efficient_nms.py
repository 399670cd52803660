"""EfficientNMS_TRT: TensorRT's own plugin for thresholds and NMS. Deprecated since TensorRT 10.12.

Source of what it computes: TensorRT's plugin/efficientNMSPlugin, its README. Where more than K boxes are left the best
are kept.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx.reference.op_run import OpRun

from rewriters.plugins.domain import PLUGIN_DOMAIN
from rewriters.plugins.greedy_nms import class_nms, greedy_nms
from rewriters.plugins.operators import plugin_operator


def efficient_nms(
    boxes: NDArray[np.float32],
    scores: NDArray[np.float32],
    *,
    score_threshold: float,
    iou_threshold: float,
    max_output_boxes: int,
    class_agnostic: bool,
) -> tuple[NDArray[Any], ...]:
    """boxes float32 [N, M, 4] x1 y1 x2 y2, scores float32 [N, M, C] -> the best K of each image, best first.

    num_detections int32 [N, 1], detection_boxes float32 [N, K, 4], detection_scores float32 [N, K], detection_classes
    int32 [N, K]; slots past the last hold zeros, and class -1. Every pair of a box and a class whose score is at least
    the threshold is a candidate.
    """
    count = len(boxes)
    num = np.zeros((count, 1), np.int32)
    kept_boxes = np.zeros((count, max_output_boxes, 4), np.float32)
    kept_scores = np.zeros((count, max_output_boxes), np.float32)
    kept_classes = np.full((count, max_output_boxes), -1, np.int32)
    for image in range(count):
        place, label = np.nonzero(scores[image] >= np.float32(score_threshold))
        own_boxes, own_scores = boxes[image, place], scores[image, place, label]
        if class_agnostic:
            kept = greedy_nms(own_boxes, own_scores, iou_threshold)
        else:
            kept = class_nms(own_boxes, own_scores, label, iou_threshold)
        kept = kept[:max_output_boxes]
        num[image] = len(kept)
        kept_boxes[image, : len(kept)] = own_boxes[kept]
        kept_scores[image, : len(kept)] = own_scores[kept]
        kept_classes[image, : len(kept)] = label[kept]
    return num, kept_boxes, kept_scores, kept_classes


@plugin_operator
class EfficientNMS_TRT(OpRun):  # noqa: N801 - onnx finds it by the node's type
    """The node, for onnx's ReferenceEvaluator, with the attributes that our rewriters write."""

    op_domain = PLUGIN_DOMAIN

    def _run(
        self, boxes: NDArray[np.float32], scores: NDArray[np.float32], **attributes: Any
    ) -> tuple[NDArray[Any], ...]:
        unknown = {"background_class": -1, "score_activation": 0, "box_coding": 0}
        for name, ours in unknown.items():
            if attributes.get(name, ours) != ours:
                raise NotImplementedError(
                    f"EfficientNMS_TRT with {name}={attributes[name]}: the reference knows {ours}"
                )
        return efficient_nms(
            boxes,
            scores,
            score_threshold=attributes["score_threshold"],
            iou_threshold=attributes["iou_threshold"],
            max_output_boxes=attributes["max_output_boxes"],
            class_agnostic=bool(attributes.get("class_agnostic", 0)),
        )
