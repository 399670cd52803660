"""COCO's three ways to write a mask: polygons, run lengths, compressed run lengths."""

from typing import Any

from zoo.datasets.coco.finite_numbers import are_numbers
from zoo.datasets.coco.runs import runs_fault

LEAST_POLYGON = 6  # numbers: three corners


def mask_fault(segmentation: object, size: tuple[int, int]) -> str | None:
    """What is wrong with a "segmentation" on an image of `size` (height, width); None where it is fine."""
    if isinstance(segmentation, list):
        if not segmentation or not all(map(_is_polygon, segmentation)):
            return "segmentation: expected polygons of three corners x, y or more, or run lengths"
        reach = max(size)  # pycocotools walks the edges pixel by pixel: far ones take minutes, or crash it
        if any(min(polygon) < -reach or max(polygon) > 2 * reach for polygon in segmentation):
            return f"segmentation: a polygon reaches far outside its image of {size[1]}x{size[0]}"
        return None
    counts = segmentation.get("counts") if isinstance(segmentation, dict) else None
    if not isinstance(segmentation, dict) or not isinstance(counts, str | list):
        return f"segmentation {segmentation!r:.40}, expected polygons or run lengths"
    if segmentation.get("size") != list(size):
        return (
            f"segmentation has size {segmentation.get('size')!r:.40}, expected its image's {list(size)} (height, width)"
        )
    fault = runs_fault(counts, size[0] * size[1])
    return fault and f"segmentation: {fault}"


def run_lengths(segmentation: Any, size: tuple[int, int]) -> dict[str, Any]:
    """A good segmentation as COCO's compressed run lengths {"size": [h, w], "counts": bytes}. Needs pycocotools."""
    if isinstance(segmentation, dict) and isinstance(segmentation["counts"], str):
        return {"size": list(size), "counts": segmentation["counts"].encode("ascii")}
    from pycocotools import mask as coco_mask

    packed = coco_mask.frPyObjects(segmentation, *size)
    lengths: dict[str, Any] = coco_mask.merge(packed) if isinstance(packed, list) else packed
    return lengths


def _is_polygon(value: object) -> bool:
    return isinstance(value, list) and len(value) >= LEAST_POLYGON and len(value) % 2 == 0 and are_numbers(value)
