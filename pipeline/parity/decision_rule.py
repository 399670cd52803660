"""The thresholds at which a detector decides, read from the model itself."""

from dataclasses import dataclass

from torch import nn

from zoo.models.detection.yolov5 import YOLOv5


@dataclass(frozen=True)
class DecisionRule:
    """Where a detection may come or go by a rounding error. None: the model has no such threshold.

    ``score``: detections at or below it are dropped. ``nms_iou``: overlap above which the lower score of a class is
    dropped, whatever its class where ``class_agnostic``. ``candidates``: how many meet in NMS at most, of YOLOv5.
    ``slots``: how many detections are kept at most (K).
    """

    score: float | None = None
    nms_iou: float | None = None
    slots: int | None = None
    candidates: int | None = None
    class_agnostic: bool = False


def decision_rule(model: nn.Module) -> DecisionRule:
    """Read from the detector: two-stage ones decide in ``roi_heads``, one-stage ones themselves.

    Source: torchvision 0.29, RoIHeads, RetinaNet, FCOS and SSD, which name three attributes alike, as YOLOv5 does here.
    """
    decider = getattr(model, "roi_heads", model)
    score, nms_iou, slots = (
        getattr(decider, name, None) for name in ("score_thresh", "nms_thresh", "detections_per_img")
    )
    return DecisionRule(
        score=None if score is None else float(score),
        nms_iou=None if nms_iou is None else float(nms_iou),
        slots=None if slots is None else int(slots),
        candidates=model.topk_candidates if isinstance(model, YOLOv5) else None,
        class_agnostic=isinstance(model, YOLOv5) and model.class_agnostic,
    )
