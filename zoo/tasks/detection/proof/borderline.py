"""Why a detection may have no partner: it lies on one of the model's own thresholds.

Near a threshold a rounding error of 1e-7 decides. Four reasons are accepted, each needs its evidence:
1. the score lies within the score gate of the score threshold. Where scores are weighted behind the threshold, one
   below it may have been compared as any number, and few of these are accepted;
2. both sides are full (K detections), and the score is within the gate of the other side's K-th score;
3. on its own side it overlaps a better detection of its class by the NMS threshold, give or take ``nms_iou``: on the
   other side that one suppressed it;
4. on the other side a detection that is itself borderline would have suppressed it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zoo.comparison import Borderline
from zoo.comparison.decision_rule import MAX_WEIGHTED, DecisionRule
from zoo.tasks.detection.proof.boxes import format_detection
from zoo.tasks.detection.result import DetectionResult


@dataclass(frozen=True)
class Unpaired:
    """One side's detections, and the indices of those without a partner."""

    owner: str
    detections: DetectionResult
    indices: list[int]


def explain(
    reference: Unpaired, candidate: Unpaired, gates: Mapping[str, float], rule: DecisionRule
) -> tuple[tuple[Borderline, ...], tuple[list[int], list[int]]]:
    """What is borderline, and the indices (of either side) that nothing explains."""
    sides = (reference, candidate)
    reasons: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for which, (side, other) in enumerate((sides, sides[::-1])):
        for index in side.indices:
            reason = _own_reason(side.detections, index, other.detections, gates, rule)
            if reason:
                reasons[which][index] = reason
        if rule.weighted:
            reasons[which].update(_weighted_reasons(side, reasons[which], rule))
    while _spread(sides, reasons, gates, rule):
        pass
    listed = tuple(
        Borderline(f"{side.owner}: {_precise(side.detections, index)}", reason_of[index])
        for side, reason_of in zip(sides, reasons, strict=True)
        for index in sorted(reason_of)
    )
    left = tuple(
        [i for i in side.indices if i not in explained] for side, explained in zip(sides, reasons, strict=True)
    )
    return listed, (left[0], left[1])


def _own_reason(
    side: DetectionResult, index: int, other: DetectionResult, gates: Mapping[str, float], rule: DecisionRule
) -> str | None:
    score = float(side.scores[index])
    if rule.score is not None and abs(score - rule.score) <= gates["scores"]:
        return f"score {score:.6f} within {gates['scores']:g} of the score threshold {rule.score:g}"
    if rule.slots is not None and len(side) == len(other) == rule.slots:
        last = float(other.scores.min())
        if score <= last + gates["scores"]:
            return f"score {score:.6f} within {gates['scores']:g} of the K-th score {last:.6f} (K = {rule.slots})"
    if rule.nms_iou is not None:
        rivals = np.full(len(side), rule.class_agnostic) | (side.labels == side.labels[index])
        better = rivals & (side.scores >= side.scores[index])
        better[index] = False
        overlaps = side.form.iou(side.boxes[index : index + 1], side.boxes[better])[0]
        near = overlaps[np.abs(overlaps - rule.nms_iou) <= gates["nms_iou"]]
        if near.size:
            return f"NMS IoU {near[0]:.6f} within {gates['nms_iou']:g} of the NMS threshold {rule.nms_iou:g}"
    return None


def _weighted_reasons(side: Unpaired, reasons: Mapping[int, str], rule: DecisionRule) -> dict[int, str]:
    """Of scores below the threshold that was applied before they were weighted: no more than MAX_WEIGHTED of a side."""
    assert rule.score is not None
    below = [i for i in side.indices if i not in reasons and side.detections.scores[i] < rule.score]
    if len(below) > MAX_WEIGHTED:
        return {}
    words = "score {:.6f} was weighted behind the score threshold {:g}, and one of at most {} such"
    return {i: words.format(float(side.detections.scores[i]), rule.score, MAX_WEIGHTED) for i in below}


def _spread(
    sides: tuple[Unpaired, Unpaired],
    reasons: tuple[dict[int, str], dict[int, str]],
    gates: Mapping[str, float],
    rule: DecisionRule,
) -> bool:
    """Reason 4, one round. Whether anything was found."""
    if rule.nms_iou is None:
        return False
    changed = False
    for which in (0, 1):
        side, other = sides[which].detections, sides[1 - which].detections
        for index in sides[which].indices:
            if index in reasons[which]:
                continue
            for cause in reasons[1 - which]:
                if side.labels[index] != other.labels[cause] and not rule.class_agnostic:
                    continue
                overlap = side.form.iou(side.boxes[index : index + 1], other.boxes[cause : cause + 1])[0, 0]
                suppresses = other.scores[cause] >= side.scores[index] - gates["scores"]
                if suppresses and overlap > rule.nms_iou - gates["nms_iou"]:
                    reasons[which][index] = f"IoU {overlap:.4f} with a borderline one of {sides[1 - which].owner}"
                    changed = True
                    break
    return changed


def _precise(detections: DetectionResult, index: int) -> str:
    return format_detection(detections, index, score_digits=6, box_digits=2)
