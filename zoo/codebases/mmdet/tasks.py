"""The task of a detector of mmdetection. One of whose results zooport would lose a part is refused by name."""

from collections.abc import Mapping
from typing import Any

from zoo.codebases.config import CodebaseConfig, type_name
from zoo.errors import InputError

WHOLE_MASKS = (
    "SOLOHead",
    "DecoupledSOLOHead",
    "DecoupledSOLOLightHead",
    "SOLOV2Head",
    "MaskFormerHead",
    "Mask2FormerHead",
)
"""Heads that give masks of the whole image."""
MASK_HEADS_OF_BOXES = ("RTMDetInsHead", "RTMDetInsSepBNHead")
"""Box heads that give masks as well."""
DETECTION, BOX_MASKS, IMAGE_MASKS = "Detection", "InstanceSegmentation", "InstanceMasks"


def task_of(config: CodebaseConfig) -> dict[str, Any]:
    """The section `task`, without classes. Raises InputError for a model whose results or inputs zooport has not."""
    model, where = config.model, f"{config.path}: model {type_name(config.model.get('type'))}"
    if "language_model" in model:
        raise InputError(f"{where} takes text beside the image, and zooport images alone; use a detector without text")
    if _part(model.get("roi_head")).get("mask_head"):
        return {"type": BOX_MASKS, "sampled_masks": True}
    head = _head_of_masks(model)
    if head is None:
        return {"type": DETECTION}
    if head not in WHOLE_MASKS:
        raise InputError(
            f"{where} gives a mask for each object by its {head}, which zooport does not export, and as a detector it "
            "would lose its masks; use Mask R-CNN, Cascade Mask R-CNN, SOLO, SOLOv2 or Mask2Former"
        )
    if stuff := _part(model.get("panoptic_head")).get("num_stuff_classes"):
        raise InputError(
            f"{where} is for panoptic segmentation (num_stuff_classes={stuff}), which zooport does not have; use one "
            "that was trained for instances"
        )
    return {"type": IMAGE_MASKS}


def _head_of_masks(model: Mapping[str, Any]) -> str | None:
    """The type of the head that gives masks, None for a model without."""
    for key in ("mask_head", "panoptic_head"):
        if head := _part(model.get(key)):
            return type_name(head.get("type"))
    kind = type_name(_part(model.get("bbox_head")).get("type"))
    return kind if kind in MASK_HEADS_OF_BOXES else None


def _part(value: Any) -> Mapping[str, Any]:
    """A section; the last one of a list; empty where there is none."""
    last = value[-1] if isinstance(value, list | tuple) and value else value
    return last if isinstance(last, Mapping) else {}
