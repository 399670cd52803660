"""COCO's box average precision."""

from collections.abc import Mapping
from typing import Any, ClassVar

from zoo.metrics.coco_ap import CocoAP, Columns, xywh
from zoo.registry import METRICS


@METRICS.register_module()
class CocoBoxAP(CocoAP):
    """AP by the IoU of boxes (see CocoAP for the rest).

    Items and results have boxes float32 [n, 4] x1 y1 x2 y2 in the original image's pixels. Without "areas", an object's
    area is that of its box. Gives "coco/box_AP", "coco/box_AP50" and so on.
    """

    main: ClassVar[str] = "box_AP"
    truth: ClassVar[tuple[str, ...]] = ("boxes", "labels")
    shape: ClassVar[str] = "bbox"
    stats: ClassVar[tuple[str, ...]] = (
        *("box_AP", "box_AP50", "box_AP75"),
        *("box_AP_small", "box_AP_medium", "box_AP_large"),
    )

    def result_shapes(self, item: Mapping[str, Any], result: Any) -> Columns:  # noqa: ARG002 - other shapes need it
        """The boxes."""
        boxes = xywh(self.field(result, "boxes"))
        return {"bbox": list(boxes), "area": [width * height for _, _, width, height in boxes]}
