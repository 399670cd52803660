"""What images exercise of torchvision's R-CNNs."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor
from torchvision.ops import clip_boxes_to_image

from zoo.contract.coverage.decisions import count_images, count_removed
from zoo.contract.coverage.usage import Usage, listened
from zoo.models.detection.rcnn.constants import MIN_BOX_SIZE, POOLERS


@contextmanager
def rcnn_coverage(model: Any, usage: Usage) -> Iterator[None]:
    """Count into `usage` what proposals, detections and poolers of an R-CNN decide while the context lasts."""
    rpn, heads = model.rpn, model.roi_heads

    def proposals(_result: Any, boxes: Tensor, objectness: Tensor, sizes: Sequence[Any], counts: Sequence[int]) -> None:
        _count_proposals(usage, rpn, boxes, objectness, sizes, counts)

    def detections(_result: Any, logits: Tensor, codes: Tensor, boxes: Sequence[Tensor], sizes: Sequence[Any]) -> None:
        _count_detections(usage, heads, logits, codes, boxes, sizes)

    with ExitStack() as stack:
        stack.enter_context(listened(rpn, "filter_proposals", proposals))
        stack.enter_context(listened(heads, "postprocess_detections", detections))
        for name in POOLERS:
            pooler = getattr(heads, name, None)
            if pooler is not None:
                stack.enter_context(listened(pooler, "forward", _pooled(usage, name, pooler)))
        yield


def _pooled(usage: Usage, name: str, pooler: Any) -> Any:
    def note(_result: Any, _features: Any, boxes: list[Tensor], _sizes: Any) -> None:
        scales = pooler.scales or ()
        levels = pooler.map_levels(boxes) if len(scales) > 1 else torch.zeros(sum(map(len, boxes)), dtype=torch.int64)
        for level in range(len(scales)):
            usage.add(f"boxes that {name} pools", f"from level {level}", (levels == level).sum())

    return note


def _count_proposals(
    usage: Usage, rpn: Any, boxes: Tensor, objectness: Tensor, sizes: Sequence[Any], counts: Sequence[int]
) -> None:
    """boxes [N, A, 4], objectness [N * A, 1]; `counts`: of the levels' anchors."""
    objectness = objectness.reshape(len(boxes), -1)
    levels = torch.cat([torch.full((count,), level) for level, count in enumerate(counts)])
    chosen = rpn._get_top_n_idx(objectness, counts)  # noqa: SLF001 - what the network itself keeps of each level
    what = "proposals"
    for image, index in enumerate(chosen):
        usage.add(what, "removed by the largest number of a level", objectness.shape[1] - len(index))
        kept = count_removed(
            usage,
            what,
            clip_boxes_to_image(boxes[image, index], sizes[image]),
            objectness[image, index].sigmoid(),
            levels[index],
            score=rpn.score_thresh,
            overlap=rpn.nms_thresh,
            most=rpn.post_nms_top_n(),
            least=rpn.min_size,
            including=True,
        )
        for level in range(len(counts)):
            usage.add("anchors that became proposals", f"of level {level}", (levels[index][kept] == level).sum())


def _count_detections(
    usage: Usage, heads: Any, logits: Tensor, codes: Tensor, proposals: Sequence[Tensor], sizes: Sequence[Any]
) -> None:
    lengths = [len(boxes) for boxes in proposals]
    scores = torch.split(logits.softmax(dim=-1), lengths)
    decoded = torch.split(heads.box_coder.decode(codes, list(proposals)), lengths)
    counts = []
    for boxes, of_class, size in zip(decoded, scores, sizes, strict=True):
        clipped = clip_boxes_to_image(boxes, size)[:, 1:].reshape(-1, 4)
        labels = torch.arange(1, of_class.shape[1]).expand(len(of_class), -1).reshape(-1)
        kept = count_removed(
            usage,
            "detections",
            clipped,
            of_class[:, 1:].reshape(-1),
            labels,
            score=heads.score_thresh,
            overlap=heads.nms_thresh,
            most=heads.detections_per_img,
            least=MIN_BOX_SIZE,
        )
        counts.append(len(kept))
    count_images(usage, counts)
