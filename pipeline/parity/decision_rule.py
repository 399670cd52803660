"""The thresholds at which a detector decides, read from the model itself."""

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class DecisionRule:
    """Where a detection may come or go by a rounding error. None: the model has no such threshold.

    ``score``: detections at or below it are dropped. ``nms_iou``: overlap above which the lower score of a class is
    dropped. ``slots``: how many detections are kept at most (K).
    """

    score: float | None = None
    nms_iou: float | None = None
    slots: int | None = None


def decision_rule(model: nn.Module) -> DecisionRule:
    """Read from a detector of torchvision: two-stage ones decide in ``roi_heads``, one-stage ones themselves.

    Source: torchvision 0.29, RoIHeads, RetinaNet, FCOS and SSD, which name the three attributes alike.
    """
    decider = getattr(model, "roi_heads", model)
    score, nms_iou, slots = (
        getattr(decider, name, None) for name in ("score_thresh", "nms_thresh", "detections_per_img")
    )
    return DecisionRule(
        score=None if score is None else float(score),
        nms_iou=None if nms_iou is None else float(nms_iou),
        slots=None if slots is None else int(slots),
    )
