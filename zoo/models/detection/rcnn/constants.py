"""Constants of torchvision's R-CNNs."""

from collections.abc import Iterator
from typing import Any, cast

from zoo.contract.constants.constant import Case, Constant, constant, normalization
from zoo.contract.constants.detection import anchor_boxes, box_coder, image_bounds, kept, roi_align, suppression

MIN_BOX_SIZE = 1e-2  # pixels; torchvision's own constant in RoIHeads.postprocess_detections
POOLERS = ("box_roi_pool", "mask_roi_pool", "keypoint_roi_pool")


def rcnn_constants(parts: Any, case: Case) -> Iterator[Constant]:
    """Those of an R-CNN, given as its `parts`."""
    seen = case.outputs(
        {"transform": parts.transform, "anchors": parts.rpn.anchor_generator, "objectness": parts.rpn.head}
    )
    (size, *_) = seen["transform"][0].image_sizes
    yield from normalization("transform", parts.transform.image_mean, parts.transform.image_std)
    counts = [level[0].numel() for level in seen["objectness"][0]]
    yield anchor_boxes("rpn", seen["anchors"][0], counts)
    yield from _proposals(parts.rpn, counts, size, fixed=case.fixed)
    heads = parts.roi_heads
    for name in POOLERS if case.level == "final" else POOLERS[:1]:
        if getattr(heads, name, None) is not None:
            yield from roi_align(f"roi_heads.{name}", getattr(heads, name))
    if case.level != "raw":
        yield from box_coder("roi_heads", heads.box_coder, "roi_heads")
    if case.level == "final":
        yield from image_bounds("roi_heads", size, "roi_heads")
        yield constant("score threshold", "roi_heads", heads.score_thresh, "Greater")
        yield constant("least side of a box in roi_heads", "roi_heads", MIN_BOX_SIZE, "GreaterOrEqual", count=2)
        yield suppression("NMS threshold", "roi_heads", heads.nms_thresh)
        classes = cast("int", heads.box_predictor.cls_score.out_features) - 1
        most = min(heads.detections_per_img, classes * parts.rpn.post_nms_top_n())
        yield from kept("detections of an image", "roi_heads", [most])


def _proposals(rpn: Any, counts: list[int], size: Any, *, fixed: bool) -> Iterator[Constant]:
    """What the region proposal network decides by. `counts`: of each level's anchors."""
    yield from box_coder("rpn", rpn.box_coder, "rpn")
    yield from image_bounds("rpn", size, "rpn")
    limit = rpn.pre_nms_top_n()
    slots = min(limit, max(counts)) if fixed else limit
    most = min(rpn.post_nms_top_n(), slots * len(counts))
    yield from kept(
        "anchors of a level, and proposals of an image, that rpn keeps", "rpn", [*[slots] * len(counts), most]
    )
    yield constant("least side of a proposal", "rpn", rpn.min_size, "GreaterOrEqual", count=2)
    yield constant("score threshold of proposals", "rpn", rpn.score_thresh, "GreaterOrEqual")
    yield suppression("NMS threshold of proposals", "rpn", rpn.nms_thresh)
