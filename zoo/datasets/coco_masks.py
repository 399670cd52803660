"""COCO's three ways to write a mask: polygons, run lengths, compressed run lengths."""

from typing import Any

from zoo.datasets.coco_numbers import are_numbers

LEAST_POLYGON = 6  # numbers: three corners


def mask_fault(segmentation: object, size: tuple[int, int]) -> str | None:
    """What is wrong with an annotation's "segmentation" on an image of `size` (height, width); None where it is good.

    The compressed kind is not unpacked: whether its runs fill the image is not looked at.
    """
    if isinstance(segmentation, list):
        good = segmentation and all(map(_is_polygon, segmentation))
        return None if good else "segmentation: expected polygons of three corners x, y or more, or run lengths"
    counts = segmentation.get("counts") if isinstance(segmentation, dict) else None
    if not isinstance(segmentation, dict) or not isinstance(counts, str | list):
        return f"segmentation {segmentation!r:.40}, expected polygons or run lengths"
    if segmentation.get("size") != list(size):
        return f"segmentation has size {segmentation.get('size')}, expected its image's {list(size)} (height, width)"
    return _counts_fault(counts, size[0] * size[1]) if isinstance(counts, list) else None


def _counts_fault(counts: list[Any], pixels: int) -> str | None:
    if not all(type(run) is int and run >= 0 for run in counts):
        return "segmentation: expected run lengths that are whole numbers, 0 or more"
    if sum(counts) != pixels:
        return f"segmentation: the run lengths add up to {sum(counts)}, expected {pixels} pixels"
    return None


def run_lengths(segmentation: Any, size: tuple[int, int]) -> dict[str, Any]:
    """A good segmentation as COCO's compressed run lengths {"size": [h, w], "counts": bytes}. Needs pycocotools."""
    if isinstance(segmentation, dict) and isinstance(segmentation["counts"], str):
        return {"size": list(size), "counts": segmentation["counts"].encode("ascii")}
    from pycocotools import mask as coco_mask

    packed = coco_mask.frPyObjects(segmentation, *size)
    found: dict[str, Any] = coco_mask.merge(packed) if isinstance(packed, list) else packed
    return found


def _is_polygon(value: object) -> bool:
    return isinstance(value, list) and len(value) >= LEAST_POLYGON and len(value) % 2 == 0 and are_numbers(value)
