"""The thresholds at which a detector decides, read from the model itself."""

from torch import nn

from zoo.comparison.decision_rule import DecisionRule
from zoo.models.detection.yolov5 import YOLOv5


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
