"""The thresholds at which a detector decides."""

from dataclasses import dataclass

MAX_WEIGHTED = 2  # detections of a side, below the threshold that their scores were weighted behind


@dataclass(frozen=True)
class DecisionRule:
    """Where a detection may come or go by a rounding error. None: the model has no such threshold.

    ``score``: detections at or below it are dropped; where they are ``weighted``, before their scores are multiplied by
    a factor of at most 1, so that a score below it says nothing of the one that was compared. ``nms_iou``: overlap
    above which the lower score of a class is dropped, whatever its class where ``class_agnostic``. ``candidates``: how
    many meet in NMS at most. ``slots``: how many detections are kept at most (K). ``candidate_outputs``: the outputs of
    a plugin node that gives candidates: their number, boxes, scores and classes.
    """

    score: float | None = None
    nms_iou: float | None = None
    slots: int | None = None
    candidates: int | None = None
    class_agnostic: bool = False
    weighted: bool = False
    candidate_outputs: tuple[str, ...] = ()
