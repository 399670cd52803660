"""Constants of torchvision's RetinaNet and FCOS."""

from collections.abc import Iterator
from typing import Any

from torchvision.models.detection._utils import BoxCoder

from zoo.contract.constants.constant import Case, Constant, normalization
from zoo.contract.constants.detection import anchor_boxes, box_coder, decisions, image_bounds


def seen_parts(parts: Any, case: Case) -> dict[str, Any]:
    """What the parts of a dense detector of torchvision give for the case, by the name of the part."""
    return case.outputs(
        {
            "transform": parts.transform,
            "anchors": parts.anchor_generator,
            "head": parts.head,
            "features": parts.backbone,
        }
    )


def dense_constants(parts: Any, case: Case) -> Iterator[Constant]:
    """Those of a RetinaNet or an FCOS, given as its `parts`."""
    seen = seen_parts(parts, case)
    yield from normalization("transform", parts.transform.image_mean, parts.transform.image_std)
    if case.level == "raw":
        return
    per_place = parts.anchor_generator.num_anchors_per_location()
    counts = [
        level.shape[-2] * level.shape[-1] * count
        for level, count in zip(seen["features"].values(), per_place, strict=True)
    ]
    yield anchor_boxes("", seen["anchors"][0], counts)
    if isinstance(parts.box_coder, BoxCoder):
        yield from box_coder("", parts.box_coder, "the model")
    if case.level == "final":
        (size, *_) = seen["transform"][0].image_sizes
        yield from image_bounds("", size, "the model")
        classes = seen["head"]["cls_logits"].shape[-1]
        limit = parts.topk_candidates
        pairs = [min(limit, count * classes) if case.fixed else limit for count in counts]
        yield from decisions(parts, [*pairs, parts.detections_per_img])
