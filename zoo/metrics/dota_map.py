"""DOTA's mean average precision: PASCAL VOC's, with the overlap of rotated boxes."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.geometry.rotated import rotated_iou
from zoo.metrics.voc_map import VOCmAP
from zoo.registry import METRICS


@METRICS.register_module()
class DotaMAP(VOCmAP):
    """AP at one IoU of rotated boxes, mean over the classes that have truth, in points 0..100.

    Source: task 1 of DOTA's devkit (Xia et al., DOTA: A Large-scale Dataset for Object Detection in Aerial Images, CVPR
    2018), which is VOC's evaluation of 2007: `form` "11-point"; "area" is that of VOC 2010. The overlap is exact.

    Items have "rotated_boxes" [n, 5] x y w h angle, "labels" int64 [n] and optionally "difficult" bool [n]; results
    have `boxes` [n, 5], `scores` and `labels`. Gives "dota/mAP".
    """

    default_prefix = "dota"
    truth: ClassVar[tuple[str, ...]] = ("rotated_boxes", "labels")

    def __init__(self, iou: float = 0.5, form: str = "11-point", **options: Any) -> None:
        super().__init__(iou, form, **options)

    def overlaps(self, item: Mapping[str, Any], result: Any) -> NDArray[np.float64]:
        """IoU of the result's and the item's boxes, [d, n]."""
        return rotated_iou(self.field(result, "boxes"), self.field(item, "rotated_boxes"))
