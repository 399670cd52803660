"""What images exercise of YOLOv5."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from zoo.contract.coverage.decisions import count_images, count_removed
from zoo.contract.coverage.usage import Usage, listened
from zoo.models.detection.yolov5.detect import STRIDES
from zoo.models.detection.yolov5.yolov5 import YOLOv5


@contextmanager
def yolov5_coverage(model: YOLOv5, usage: Usage) -> Iterator[None]:
    """Count into `usage` what levels and thresholds decide while the context lasts."""

    def note(result: list[dict[str, Tensor]], boxes: Tensor, scores: Tensor) -> None:
        count_images(usage, [len(detections["scores"]) for detections in result])
        shares = torch.tensor([1 / stride**2 for stride in STRIDES], dtype=torch.float64)
        counts = (shares / shares.sum() * boxes.shape[1]).round().to(torch.int64)  # all levels have as many anchors
        levels = torch.repeat_interleave(torch.arange(len(STRIDES)), counts)
        for own_boxes, own_scores in zip(boxes, scores, strict=True):
            best, labels = own_scores.max(dim=1)
            for level, stride in enumerate(STRIDES):
                above = (best[levels == level] > model.score_thresh).sum()
                usage.add("candidates", f"of stride {stride}", above)
            order = best.argsort(descending=True)
            chosen = order[: model.topk_candidates]
            beyond = (best[order[model.topk_candidates :]] > model.score_thresh).sum()
            usage.add("candidates", "removed by the largest number", beyond)
            count_removed(
                usage,
                "detections",
                own_boxes[chosen],
                best[chosen],
                torch.zeros_like(labels[chosen]) if model.class_agnostic else labels[chosen],
                score=model.score_thresh,
                overlap=model.nms_thresh,
                most=model.detections_per_img,
            )

    with listened(model, "postprocess_detections", note):
        yield
