"""Non-maximum suppression of boxes in 3D, seen from above."""

from collections.abc import Mapping

from torch import Tensor

from zoo.geometry.boxes3d import BEV
from zoo.models.rotated_nms import class_rotated_nms


def suppressed(candidates: Mapping[str, Tensor], iou_threshold: float, most: int) -> dict[str, Tensor]:
    """Tensors [n, ...], "boxes", "scores" and "labels" among them -> those that NMS keeps, the best `most` of them.

    Best first. Boxes of different labels do not meet.
    """
    boxes, scores, labels = candidates["boxes"], candidates["scores"], candidates["labels"]
    best = class_rotated_nms(boxes[:, BEV], scores, labels, iou_threshold)[:most]
    return {name: values[best] for name, values in candidates.items()}
