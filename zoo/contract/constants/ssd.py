"""Constants of torchvision's SSD and SSDLite."""

from collections.abc import Iterator
from typing import Any

from torchvision.models.detection.ssd import SSD

from zoo.contract.constants.constant import Case, Constant, graph_constants, normalization
from zoo.contract.constants.dense import decisions, seen_parts
from zoo.contract.constants.detection import anchor_boxes, box_coder, image_bounds


@graph_constants.register(SSD)
def _(model: SSD, case: Case) -> Iterator[Constant]:
    parts: Any = model
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
