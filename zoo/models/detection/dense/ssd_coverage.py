"""What images exercise of torchvision's SSD and SSDLite."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torchvision.ops import clip_boxes_to_image

from zoo.contract.coverage.decisions import count_images, count_removed
from zoo.contract.coverage.usage import Usage, listened


@contextmanager
def ssd_coverage(model: Any, usage: Usage) -> Iterator[None]:
    """Count into `usage` what an SSD decides while the context lasts."""

    def note(result: list[dict[str, Tensor]], outputs: dict[str, Tensor], anchors: list[Tensor], sizes: Any) -> None:
        count_images(usage, [len(detections["scores"]) for detections in result])
        for image, size in enumerate(sizes):
            _count(usage, model, outputs["cls_logits"][image], outputs["bbox_regression"][image], anchors[image], size)

    with listened(model, "postprocess_detections", note):
        yield


def _count(usage: Usage, model: Any, logits: Tensor, codes: Tensor, anchors: Tensor, size: Any) -> None:
    """Of one image: logits [A, C], codes [A, 4], anchors [A, 4]."""
    boxes = clip_boxes_to_image(model.box_coder.decode_single(codes, anchors), size)
    scores = logits.softmax(dim=-1)[:, 1:]
    kept: list[tuple[Tensor, Tensor, Tensor]] = []
    for label, of_class in enumerate(scores.T, 1):
        above = torch.where(of_class > model.score_thresh)[0]
        chosen = above[of_class[above].topk(min(len(above), model.topk_candidates)).indices]
        usage.add("candidates", "removed by the score threshold", len(of_class) - len(above))
        usage.add("candidates", "removed by the largest number of a class", len(above) - len(chosen))
        kept.append((boxes[chosen], of_class[chosen], torch.full_like(chosen, label)))
    count_removed(
        usage,
        "detections",
        *(torch.cat(part) for part in zip(*kept, strict=True)),
        score=-1.0,
        overlap=model.nms_thresh,
        most=model.detections_per_img,
    )
    del usage.counts["detections", "removed by the score threshold"]  # counted with the candidates
