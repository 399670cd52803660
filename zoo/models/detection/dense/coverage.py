"""What images exercise of torchvision's RetinaNet and FCOS."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torchvision.ops import clip_boxes_to_image

from zoo.contract.coverage.decisions import count_images, count_removed
from zoo.contract.coverage.usage import Usage, listened


@contextmanager
def dense_coverage(model: Any, usage: Usage) -> Iterator[None]:
    """Count into `usage` what a RetinaNet or an FCOS decides while the context lasts."""

    def note(result: list[dict[str, Tensor]], outputs: Any, anchors: Any, sizes: Any) -> None:
        count_images(usage, [len(detections["scores"]) for detections in result])
        for image, size in enumerate(sizes):
            _count(
                usage,
                model,
                {name: [level[image] for level in maps] for name, maps in outputs.items()},
                anchors[image],
                size,
            )

    with listened(model, "postprocess_detections", note):
        yield


def _count(usage: Usage, model: Any, outputs: dict[str, list[Tensor]], anchors: list[Tensor], size: Any) -> None:
    """Of one image, by level: the outputs [A, ...] and anchors [A, 4]."""
    decode = getattr(model.box_coder, "decode_single", model.box_coder.decode)
    boxes, scores, labels = [], [], []
    for level, (logits, codes, level_anchors) in enumerate(
        zip(outputs["cls_logits"], outputs["bbox_regression"], anchors, strict=True)
    ):
        of_class = logits.sigmoid()
        if "bbox_ctrness" in outputs:
            of_class = torch.sqrt(of_class * outputs["bbox_ctrness"][level].sigmoid())
        flat = of_class.flatten()
        above = int((flat > model.score_thresh).sum())
        kept = min(above, model.topk_candidates)
        usage.add("candidates", f"of level {level}", kept)
        usage.add("candidates", "removed by the score threshold", len(flat) - above)
        usage.add("candidates", "removed by the largest number of a level", above - kept)
        best, index = flat.topk(kept)
        rows = index // of_class.shape[1]
        boxes.append(clip_boxes_to_image(decode(codes[rows], level_anchors[rows]), size))
        scores.append(best)
        labels.append(index % of_class.shape[1])
    count_removed(
        usage,
        "detections",
        torch.cat(boxes),
        torch.cat(scores),
        torch.cat(labels),
        score=-1.0,
        overlap=model.nms_thresh,
        most=model.detections_per_img,
    )
    del usage.counts["detections", "removed by the score threshold"]  # counted with the candidates
