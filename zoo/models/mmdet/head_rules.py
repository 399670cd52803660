"""The heads of mmdetection that have levels raw and decoded, and what they make of their outputs."""

from typing import Any, Protocol

from torch import Tensor

from zoo.models.mmdet import dense_rows
from zoo.models.mmdet.dense_rows import MapSizes
from zoo.models.mmdet.query_rows import QueryRule
from zoo.models.mmdet.yolov3_rows import YOLOv3Rule

PREDICTS = {"predict_by_feat", "_predict_by_feat_single"}


class HeadRule(Protocol):
    """`outputs`: what the head's forward gives. `ends`: of the images, int64 [1 or N, 2] (h, w)."""

    def names(self, head: Any) -> tuple[str, ...]:
        """Of the rows."""

    def rows(self, head: Any, outputs: Any) -> dict[str, Tensor]:
        """The head's own outputs, float32 [N, M, ...], by name: level raw."""

    def decoded(self, head: Any, outputs: Any, ends: Tensor, map_sizes: MapSizes) -> tuple[Tensor, Tensor]:
        """Boxes float32 [N, M, 4] and scores float32 [N, M, C]: level decoded."""


RULES: dict[str, HeadRule] = {
    **dense_rows.RULES,
    "YOLOV3Head": YOLOv3Rule(),
    "DETRHead": QueryRule(),
    "DeformableDETRHead": QueryRule(),
}
"""By the class whose method makes the boxes."""


def rule_of(head: Any) -> HeadRule | None:
    """That of a head's own class or of the nearest one that it inherits from; None for one that is not known here."""
    owner = next((kind for kind in type(head).__mro__ if PREDICTS & vars(kind).keys()), type(None))
    return RULES.get(owner.__name__)
