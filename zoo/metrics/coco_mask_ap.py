"""COCO's mask average precision."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from pycocotools import mask as run_lengths

from zoo.datasets.coco.runs import runs_fault
from zoo.errors import InputError
from zoo.metrics.coco_ap import CocoAP, Columns, boxes_of
from zoo.registry import METRICS

AT_ONCE = 16  # masks that are pasted to the image


@METRICS.register_module()
class CocoMaskAP(CocoAP):
    """AP by the IoU of masks (see CocoAP for the rest).

    Items and results have masks of the original image's size: bool [n, h, w], or a list of n of COCO's run-length
    codes, {"size": [h, w], "counts": ...}; a result with `image_masks` is pasted to the image. Without "areas", an
    object's area is that of its mask. Gives "coco/mask_AP", "coco/mask_AP50" and so on.
    """

    main: ClassVar[str] = "mask_AP"
    truth: ClassVar[tuple[str, ...]] = ("masks", "labels")
    shape: ClassVar[str] = "segm"
    stats: ClassVar[tuple[str, ...]] = (
        *("mask_AP", "mask_AP50", "mask_AP75"),
        *("mask_AP_small", "mask_AP_medium", "mask_AP_large"),
    )

    def result_shapes(self, item: Mapping[str, Any], result: Any) -> Columns:
        """The masks. Raises InputError where one is not of the image's size, or its run lengths do not fill it."""
        size = list(self.field(item, "image").shape[:2])
        pasted = hasattr(result, "image_masks")  # a model's, of its boxes; a data set's are of the image already
        masks = _pasted(result, size) if pasted else self.field(result, "masks")
        codes = [_code(mask, size) for mask in masks]
        areas = [float(run_lengths.area(code)) for code in codes]
        boxes = boxes_of(result, (size[0], size[1]) if pasted else None)  # a mask's frame may reach past the image
        return {"segmentation": codes, "area": areas, **boxes}


def _pasted(result: Any, size: list[int]) -> Iterator[Any]:
    """Some at a time: together they take an image for each."""
    for start in range(0, len(result), AT_ONCE):
        yield from result[start : start + AT_ONCE].image_masks(*size)


def _code(mask: Any, size: list[int]) -> dict[str, Any]:
    """COCO's compressed run-length code of a mask [h, w], or of a code whose counts may be a list.

    Raises InputError for one that is not of this (height, width), whose IoU COCOeval would take to be 0, and for run
    lengths that do not fill it, on which COCOeval would hang.
    """
    is_code = isinstance(mask, Mapping)
    got = list(mask.get("size", ()) if is_code else np.shape(mask))
    if got != size:
        raise InputError(f"mask: got {got}, expected the image's {size} (height, width)")
    if not is_code:
        return dict(run_lengths.encode(np.asfortranarray(mask, np.uint8)))
    counts = mask.get("counts")
    if fault := runs_fault(counts, size[0] * size[1]):
        raise InputError(f"mask: {fault}")
    return dict(run_lengths.frPyObjects(dict(mask), *size) if isinstance(counts, list) else mask)
