"""Rotated boxes that non-maximum suppression meets, easy and not."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from zoo.geometry.rotated import rotated_iou

LABELS = 3
NEAR = 1e-4  # of an IoU: where a decision may differ
KINDS = {
    "spread": "over 60 m",
    "crowd": "in one place",
    "far": "in one place, 80 m from the origin",
    "same": "one box everywhere",
    "nearly": "one box everywhere, 1e-6 m apart",
    "right": "at right angles, with sides and centres at multiples of 0.5 m",
    "nested": "one in the other, about one centre",
    "tied": "a crowd with few different scores",
    "chain": "only neighbours overlap by more than 0.2: A suppresses B, which would suppress C",
    "flat": "a crowd without an area",
}


def rotated_candidates(rows: int, count: int, kind: str, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """boxes [rows, count, 5], scores [rows, count], a fifth of them -1 (empty), labels int64 [rows, count]."""
    random = np.random.default_rng(seed)
    shape = (rows, count)
    center = random.normal(0, 60 if kind == "spread" else 2, (*shape, 2)) + (80 if kind == "far" else 0)
    sides = random.uniform(0.1, 5, (*shape, 2))
    angle = random.uniform(-7, 7, (*shape, 1))
    scores = random.uniform(size=shape)
    if kind in ("same", "nearly"):
        center, sides, angle = (np.broadcast_to(values[:, :1], values.shape) for values in (center, sides, angle))
    if kind == "nearly":
        center = center + random.normal(0, 1e-6, center.shape)
    elif kind == "right":
        center, sides = random.integers(0, 4, (*shape, 2)) / 2, random.integers(1, 5, (*shape, 2)) / 2
        angle = random.integers(-4, 5, (*shape, 1)) * np.pi / 2
    elif kind == "nested":
        center = center[:, :1] + random.normal(0, 0.05, center.shape)
    elif kind == "tied":
        scores = (scores * 3).round() / 3
    elif kind == "chain":
        center = np.arange(count)[None, :, None] * np.broadcast_to([1.0, 0.2], (rows, 1, 2))
        sides, angle = np.broadcast_to([3.0, 1.5], sides.shape), np.full(angle.shape, 0.1973955598)  # atan(0.2)
    elif kind == "flat":
        sides = sides * [1, 0]
    boxes = np.concatenate((center, sides, angle), axis=-1).astype(np.float32)
    scores = np.where(random.uniform(size=shape) < 0.2, -1, scores).astype(np.float32)
    labels = random.integers(0, LABELS, shape)
    return torch.from_numpy(boxes), torch.from_numpy(scores), torch.from_numpy(labels)


Overlap = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Boxes [n, 5] and [m, 5] -> IoU [n, m]."""


def shapely_iou(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """By shapely's polygons, in float64; 0 with a box without an area."""
    reason = "shapely is not installed; the extra mmdet brings it, in make test-all"
    shapely, affinity = (pytest.importorskip(name, reason=reason) for name in ("shapely", "shapely.affinity"))

    def polygons(rows: np.ndarray) -> np.ndarray:
        upright = [
            (shapely.box(x - w / 2, y - h / 2, x + w / 2, y + h / 2), turn) for x, y, w, h, turn in rows.tolist()
        ]
        return np.array([affinity.rotate(polygon, turn, "center", use_radians=True) for polygon, turn in upright])

    iou = np.zeros((len(boxes), len(others)))
    full, other_full = boxes[:, 2:4].min(axis=1) > 0, others[:, 2:4].min(axis=1) > 0
    first, second = polygons(boxes[full])[:, None], polygons(others[other_full])[None]
    common = shapely.area(shapely.intersection(first, second))
    iou[np.ix_(full, other_full)] = common / (shapely.area(first) + shapely.area(second) - common)
    return iou


def decided(boxes: Tensor, threshold: float, iou: Overlap = rotated_iou) -> bool:
    """Whether no IoU is near the threshold: what any order of the arithmetic must decide alike."""
    overlaps = np.stack([iou(row, row) for row in boxes.numpy()])
    return bool((abs(overlaps - threshold) > NEAR).all())


def greedily_kept(
    boxes: Tensor, scores: Tensor, labels: Tensor, threshold: float, iou: Overlap = rotated_iou
) -> np.ndarray:
    """What greedy suppression keeps, box by box: bool [rows, count]."""
    keep = np.zeros(scores.shape, bool)
    for row, (row_boxes, row_scores, row_labels) in enumerate(
        zip(boxes.numpy(), scores.numpy(), labels.numpy(), strict=True)
    ):
        overlap = iou(row_boxes, row_boxes)
        for index in sorted(range(len(row_scores)), key=lambda place: (-row_scores[place], place)):
            better = keep[row] & (row_labels == row_labels[index])
            keep[row, index] = row_scores[index] >= 0 and not (overlap[index, better] > threshold).any()
    return keep
