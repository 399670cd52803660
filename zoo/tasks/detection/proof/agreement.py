"""How far two models find the same objects, in points, without any truth."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from zoo.tasks.detection.proof.matching import pair_detections
from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.proof import FULL_AGREEMENT

SharedDetails = Callable[[DetectionResult, DetectionResult, int, int], float]


def agreement(
    expected: Sequence[DetectionResult], candidates: Sequence[DetectionResult], shared_details: SharedDetails
) -> float:
    """Of all images together, 0..100; both in one order.

    Detections are paired as parity pairs them (same label, overlap, one partner each). A pair counts its overlap, each
    detection weighs its score: one at the threshold that comes or goes says little. A pair's overlap is the IoU of the
    boxes, times ``shared_details`` of the pair, 0..1.
    """
    parts = [_same_and_all(one, other, shared_details) for one, other in zip(expected, candidates, strict=True)]
    same, whole = (sum(column) for column in zip(*parts, strict=True))
    return FULL_AGREEMENT * same / whole if whole else FULL_AGREEMENT


def mask_iou(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Of two masks of one shape; 1 where both are empty."""
    either = int((one | other).sum())
    return int((one & other).sum()) / either if either else 1.0


def _same_and_all(one: DetectionResult, other: DetectionResult, shared_details: SharedDetails) -> tuple[float, float]:
    whole = _weight(one) + _weight(other)
    one, other = one.finite(), other.finite()
    iou = one.form.iou(one.boxes, other.boxes)
    exact = dict.fromkeys((*one.form.units, "scores"), 0.0)
    same = 0.0
    for a, b in pair_detections(one, other, exact):
        same_box = np.array_equal(one.boxes[a], other.boxes[b])  # its IoU is 0 where it has no area
        overlap = 1.0 if same_box else float(iou[a, b])
        same += float(one.scores[a] + other.scores[b]) * overlap * shared_details(one, other, a, b)
    return same, whole


def _weight(result: DetectionResult) -> float:
    """All scores; what is no number is wrong as much as can be."""
    return float(np.where(np.isfinite(result.scores), result.scores, 1.0).sum())
