"""Non-maximum suppression of boxes in 3D, seen from above."""

from collections.abc import Mapping

import torch
from torch import Tensor

from zoo.models.rotated_nms import rotated_nms

BEV = (0, 1, 3, 4, 6)
"""The columns of a box that are seen from above: x y length width yaw."""


def suppressed(found: Mapping[str, Tensor], iou_threshold: float, most: int) -> dict[str, Tensor]:
    """`found`: tensors [n, ...], "boxes", "scores" and "labels" among them -> those that NMS keeps, best first.

    Boxes of different labels do not meet. The best `most` are kept.
    """
    boxes, scores, labels = found["boxes"], found["scores"], found["labels"]
    keep = torch.zeros_like(labels, dtype=torch.bool)
    for label in sorted(set(labels.tolist())):
        index = (labels == label).nonzero()[:, 0]
        keep[index[rotated_nms(boxes[index][:, BEV], scores[index], iou_threshold)]] = True
    kept = keep.nonzero()[:, 0]
    best = kept[scores[kept].argsort(descending=True, stable=True)[:most]]
    return {name: values[best] for name, values in found.items()}
