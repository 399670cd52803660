"""COCO's mask average precision."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pycocotools import mask as run_lengths

from zoo.errors import InputError
from zoo.metrics.coco_ap import CocoAP, Columns
from zoo.registry import METRICS


@METRICS.register_module()
class CocoMaskAP(CocoAP):
    """AP by the IoU of masks (see CocoAP for the rest).

    Items and results have masks of the original image's size: bool [n, h, w], or a list of n of COCO's run-length
    codes, {"size": [h, w], "counts": ...}. Without "areas", an object's area is that of its mask. Gives "coco/mask_AP",
    "coco/mask_AP50" and so on.
    """

    main: ClassVar[str] = "mask_AP"
    truth: ClassVar[tuple[str, ...]] = ("masks", "labels")
    shape: ClassVar[str] = "segm"
    stats: ClassVar[tuple[str, ...]] = (
        *("mask_AP", "mask_AP50", "mask_AP75"),
        *("mask_AP_small", "mask_AP_medium", "mask_AP_large"),
    )

    def truth_shapes(self, item: Mapping[str, Any]) -> Columns:
        """The masks. Raises InputError where one is not of the image's size."""
        columns = self.found_shapes(item, item)
        return columns | ({"area": np.asarray(item["areas"]).tolist()} if "areas" in item else {})

    def found_shapes(self, item: Mapping[str, Any], result: Any) -> Columns:
        """The masks. Raises InputError where one is not of the image's size."""
        codes = [_code(mask) for mask in self.field(result, "masks")]
        size = list(self.field(item, "image").shape[:2])
        for code in codes:
            if list(code["size"]) != size:  # COCOeval would find no overlap, and say nothing
                raise InputError(f"mask: got {list(code['size'])}, expected the image's {size} (height, width)")
        return {"segmentation": codes, "area": [float(run_lengths.area(code)) for code in codes]}


def _code(mask: Any) -> dict[str, Any]:
    """COCO's compressed run-length code of a mask [h, w], or of a code whose counts may be a list."""
    if isinstance(mask, Mapping):
        is_list = isinstance(mask["counts"], list)
        return dict(run_lengths.frPyObjects(dict(mask), *mask["size"]) if is_list else mask)
    return dict(run_lengths.encode(np.asfortranarray(mask, np.uint8)))
