"""The operator with standard ONNX operators: the fixed point of nms_keep, where boxes of two classes never meet."""

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.ops.nms_keep import tensorrt_translation as nms_keep


def translate(b: GraphBuilder, boxes: str, scores: str, labels: str, *, num_classes: int, iou_threshold: float) -> str:
    """-> keep bool [B, M]."""
    return nms_keep.translate(b, boxes, scores, labels, iou_threshold=iou_threshold)
