"""Constants of torchvision's SSD and SSDLite."""

from collections.abc import Iterator
from typing import Any

from zoo.contract.constants.constant import Case, Constant, normalization
from zoo.contract.constants.detection import anchor_boxes, box_coder, decisions, image_bounds
from zoo.models.detection.dense.constants import seen_parts


def ssd_constants(parts: Any, case: Case) -> Iterator[Constant]:
    """Those of an SSD, given as its `parts`."""
    seen = seen_parts(parts, case)
    yield from normalization("transform", parts.transform.image_mean, parts.transform.image_std)
    if case.level == "raw":
        return
    features = seen["features"]
    maps = list(features.values()) if isinstance(features, dict) else [features]
    per_place = parts.anchor_generator.num_anchors_per_location()
    counts = [level.shape[-2] * level.shape[-1] * count for level, count in zip(maps, per_place, strict=True)]
    yield anchor_boxes("", seen["anchors"][0], counts)
    yield from box_coder("", parts.box_coder, "the model")
    if case.level == "final":
        (size, *_) = seen["transform"][0].image_sizes
        yield from image_bounds("", size, "the model")
        top = min(parts.topk_candidates, sum(counts))
        classes = seen["head"]["cls_logits"].shape[-1] - 1
        yield from decisions(parts, [top, min(parts.detections_per_img, classes * top)])
