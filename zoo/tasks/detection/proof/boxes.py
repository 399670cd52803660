"""Intersection over union of boxes, and one detection as text."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.tasks.detection.result import DetectionResult


def box_iou(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Boxes x1 y1 x2 y2 [n, 4] and [m, 4] of one frame -> [n, m]; 0 where both boxes are empty."""
    a, b = first.astype(np.float64)[:, None], second.astype(np.float64)[None]
    sides = np.clip(np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2]), 0, None)
    common = sides[..., 0] * sides[..., 1]
    union = _area(a) + _area(b) - common
    iou: NDArray[np.float64] = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return iou


def _area(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    area: NDArray[np.float64] = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return area


def format_detection(detections: DetectionResult, index: int, *, score_digits: int = 4, box_digits: int = 1) -> str:
    """Label, score and box of one detection."""
    box = ", ".join(f"{value:.{box_digits}f}" for value in detections.boxes[index])
    return f"label {detections.labels[index]}, score {detections.scores[index]:.{score_digits}f}, box [{box}]"
