"""The heads of mmdetection that have levels raw and decoded, and what they make of their outputs."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Protocol

from torch import Tensor

from zoo.models.mmdet import dense_rows
from zoo.models.mmdet.dense_rows import MapSizes
from zoo.models.mmdet.query_rows import QueryRule
from zoo.models.mmdet.roi_rows import RoIRule, box_heads
from zoo.models.mmdet.yolov3_rows import YOLOv3Rule

PREDICTS = {"predict_by_feat", "_predict_by_feat_single"}


class HeadRule(Protocol):
    """`ends`: of the images, int64 [1 or N, 2] (h, w). `boxes_by_class`: whether each class has a box of its own."""

    boxes_by_class: ClassVar[bool]

    def names(self, head: Any) -> tuple[str, ...]:
        """Of the rows."""

    def outputs(self, model: Any, images: Tensor, run: Callable[[], Any]) -> Any:
        """What the head of an MmdetDetector gives while `run` makes it see the images."""

    def rows(self, head: Any, outputs: Any) -> dict[str, Tensor]:
        """The head's own outputs, float32 [N, M, ...], by name: level raw."""

    def decoded(self, head: Any, outputs: Any, ends: Tensor, map_sizes: MapSizes) -> tuple[Tensor, Tensor]:
        """Boxes float32 [N, M, 4], of RoI heads [N, P, C, 4], and scores float32 [N, M, C]: level decoded."""


RULES: Mapping[str, HeadRule] = {
    **dense_rows.RULES,
    "YOLOV3Head": YOLOv3Rule(),
    "DETRHead": QueryRule(),
    "DeformableDETRHead": QueryRule(),
}
"""By the class whose method makes the boxes."""
ROI_HEADS = ("StandardRoIHead", "CascadeRoIHead")
"""Those whose `predict_bbox` makes detections of what the last box head gives, a `BBoxHead`."""


def deciding_head(detector: Any) -> Any:
    """Of a detector of mmdetection: its RoI head, or its only head; None where it has neither."""
    return getattr(detector, "roi_head", None) or getattr(detector, "bbox_head", None)


def rule_of(head: Any) -> HeadRule | None:
    """That of a head's own class or of the nearest one that it inherits from; None for one that is not known here."""
    if not hasattr(head, "predict_bbox"):
        return RULES.get(owner_of(PREDICTS, head))
    owners = owner_of({"predict"}, head), owner_of(PREDICTS, box_heads(head)[-1])
    known = owners == ("BaseRoIHead", "BBoxHead") and owner_of({"predict_bbox"}, head) in ROI_HEADS
    return RoIRule() if known else None


def owner_of(methods: Collection[str], head: Any) -> str:
    """The name of the class that defines one of these methods for this head."""
    return next((kind.__name__ for kind in type(head).__mro__ if not vars(kind).keys().isdisjoint(methods)), "")
