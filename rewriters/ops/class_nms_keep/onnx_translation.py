"""The operator as ONNX: NonMaxSuppression, which treats each class by itself, on scores that only the own class has.

by_class[B, C, M] = Where(labels[B, 1, M] == 0..C - 1, scores[B, 1, M], -1)
keep = ScatterND(false[B, M], NonMaxSuppression(boxes, by_class)[:, (0, 2)], true)
"""

import numpy as np

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.ops.nms_keep.onnx_translation import scattered

EMPTY_SCORE = -1.0


def translate(b: GraphBuilder, boxes: str, scores: str, labels: str, *, num_classes: int, iou_threshold: float) -> str:
    """-> keep bool [B, M]."""
    class_axis = b.constant([1])
    of_class = b.Equal(b.Unsqueeze(labels, class_axis), b.constant(np.arange(num_classes)[:, None]))
    by_class = b.Where(of_class, b.Unsqueeze(scores, class_axis), b.constant(EMPTY_SCORE, np.float32))
    return scattered(b, boxes, by_class, b.Shape(scores), iou_threshold)
