"""How far two models find the same, in points: matched results, without any truth."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.parity.detections import finite_detections, pair_detections
from pipeline.parity.overlap import box_iou
from zoo.structures import (
    DetectionResult,
    InstanceSegmentationResult,
    KeypointResult,
    Result,
    SegmentationResult,
    SuperResolutionResult,
)

POINTS = 100.0
EXACT = {"boxes": 0.0, "scores": 0.0}
INSIDE = 0.5  # probability from which a mask's cell is of the object
NEAR = 0.05  # of the box's diagonal: how far a keypoint may move
GREY_LEVELS = 2


def agreement(expected: Sequence[Result], found: Sequence[Result]) -> float:
    """Of all images together, 0..100; both in one order, of one task.

    Detections are paired as parity pairs them (same label, overlap, one partner each). A pair counts its overlap, each
    detection weighs its score: one at the threshold that comes or goes says little. A pair's overlap is the IoU of the
    boxes, times that of the masks in them, times the part of the keypoints within 5 % of the box's diagonal. Label
    maps: the mean IoU of the labels that either has. Restored images: the part of the values within two grey levels.
    """
    first = expected[0]
    if isinstance(first, DetectionResult):
        parts = [_detections(one, other) for one, other in zip(expected, found, strict=True)]  # type: ignore[arg-type]  # of one task
    elif isinstance(first, SegmentationResult):
        return _labels([one.label_map for one in expected], [one.label_map for one in found])  # type: ignore[union-attr]
    else:
        parts = [_values(one, other) for one, other in zip(expected, found, strict=True)]  # type: ignore[arg-type]
    same, whole = (sum(column) for column in zip(*parts, strict=True))
    return POINTS * same / whole if whole else POINTS


def _detections(one: DetectionResult, other: DetectionResult) -> tuple[float, float]:
    whole = _weight(one) + _weight(other)
    one, other = finite_detections(one), finite_detections(other)
    iou = box_iou(one.boxes, other.boxes)
    same = 0.0
    for a, b in pair_detections(one, other, EXACT):
        same_box = np.array_equal(one.boxes[a], other.boxes[b])  # its IoU is 0 where it has no area
        overlap = 1.0 if same_box else float(iou[a, b])
        same += float(one.scores[a] + other.scores[b]) * overlap * _inside(one, other, a, b)
    return same, whole


def _weight(found: DetectionResult) -> float:
    """All scores; what is no number is wrong as much as can be."""
    return float(np.where(np.isfinite(found.scores), found.scores, 1.0).sum())


def _inside(one: DetectionResult, other: DetectionResult, a: int, b: int) -> float:
    """What a pair has beside its boxes: 1 where that is nothing."""
    if isinstance(one, InstanceSegmentationResult) and isinstance(other, InstanceSegmentationResult):
        return _iou(one.masks[a] >= INSIDE, other.masks[b] >= INSIDE)
    if isinstance(one, KeypointResult) and isinstance(other, KeypointResult):
        left, top, right, bottom = one.boxes[a]
        moved = np.linalg.norm(one.keypoints[a, :, :2] - other.keypoints[b, :, :2], axis=1)
        if not moved.size:
            return 1.0
        return float(np.mean(moved <= NEAR * np.hypot(right - left, bottom - top)))
    return 1.0


def _iou(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    either = int((one | other).sum())
    return int((one & other).sum()) / either if either else 1.0


def _labels(ones: Sequence[NDArray[np.int64]], others: Sequence[NDArray[np.int64]]) -> float:
    one, other = (np.concatenate([labels.ravel() for labels in side]) for side in (ones, others))
    return POINTS * float(np.mean([_iou(one == label, other == label) for label in np.union1d(one, other)]))


def _values(one: SuperResolutionResult, other: SuperResolutionResult) -> tuple[float, float]:
    error = np.abs(one.image.astype(np.int16) - other.image.astype(np.int16))
    return float((error <= GREY_LEVELS).sum()), float(error.size)
