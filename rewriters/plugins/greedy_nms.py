"""Greedy non-maximum suppression in numpy, with the arithmetic of torchvision.ops.nms."""

import numpy as np
from numpy.typing import NDArray


def greedy_nms(boxes: NDArray[np.float32], scores: NDArray[np.float32], iou_threshold: float) -> NDArray[np.intp]:
    """boxes [M, 4] x1 y1 x2 y2, scores [M] -> the indices that are kept, best first; of equal scores the lowest first.

    A box goes where its overlap with a better one that is kept is above the threshold.
    """
    order = np.argsort(-scores, kind="stable")
    low, high = boxes[order, :2], boxes[order, 2:]
    areas = (high - low).prod(axis=1)
    alive = np.ones(len(order), bool)
    kept = []
    for place in range(len(order)):
        if not alive[place]:
            continue
        kept.append(place)
        sides = np.minimum(high, high[place]) - np.maximum(low, low[place])
        common = np.maximum(sides, 0).prod(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):  # two boxes without an area: not a number, and not above
            overlap = common / (areas[place] + areas - common)
        alive[place + 1 :] &= ~(overlap[place + 1 :].astype(np.float64) > iou_threshold)
    return order[kept]


def class_nms(
    boxes: NDArray[np.float32], scores: NDArray[np.float32], labels: NDArray[np.integer], iou_threshold: float
) -> NDArray[np.intp]:
    """As greedy_nms, each class by itself."""
    kept = [np.empty(0, np.intp)]
    for label in np.unique(labels):
        of_class = np.flatnonzero(labels == label)
        kept.append(of_class[greedy_nms(boxes[of_class], scores[of_class], iou_threshold)])
    index = np.sort(np.concatenate(kept))
    return index[np.argsort(-scores[index], kind="stable")]
