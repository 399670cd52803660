"""What the thresholds of a detector removed of its candidates."""

import torch
from torch import Tensor
from torchvision.ops import batched_nms, remove_small_boxes

from zoo.contract.coverage.usage import Usage


def count_removed(
    usage: Usage,
    what: str,
    boxes: Tensor,
    scores: Tensor,
    labels: Tensor,
    *,
    score: float,
    overlap: float,
    most: int,
    least: float | None = None,
    including: bool = False,
) -> Tensor:
    """boxes [M, 4], scores [M], labels [M] of one image -> the indices of those that are kept, best first.

    Counts what the score threshold, the least side of a box, NMS and the largest number remove, one after another.
    `including`: a score that equals the threshold is kept.
    """
    left = torch.where(scores >= score if including else scores > score)[0]
    usage.add(what, "removed by the score threshold", len(scores) - len(left))
    if least is not None:
        large = left[remove_small_boxes(boxes[left], least)]
        usage.add(what, "removed by the least side", len(left) - len(large))
        left = large
    apart = left[batched_nms(boxes[left], scores[left], labels[left], overlap)]
    usage.add(what, "removed by the NMS threshold", len(left) - len(apart))
    usage.add(what, "removed by the largest number", max(0, len(apart) - most))
    return apart[:most]


def count_images(usage: Usage, counts: list[int]) -> None:
    """`counts`: how many detections each image has."""
    usage.add("images", "with detections", sum(count > 0 for count in counts))
    usage.add("images", "without detections", sum(count == 0 for count in counts))
