"""How a SpotDetector is exported: with a fixed number of detections for each image, and a batch axis."""

from collections.abc import Callable
from typing import Any

import torch
from spot_detector import SpotDetector
from torch import Tensor

from rewriters import rewrites


@rewrites(
    SpotDetector,
    "spots",
    reason="keeps a data-dependent number of cells of each image, in a loop over the batch: torchscript freezes the "
    "batch size, and dynamo refuses the loop",
    written_for="this file",
)
def spots_padded(
    original: Callable[..., Any], self: SpotDetector, scores: Tensor, labels: Tensor, boxes: Tensor
) -> list[dict[str, Tensor]]:
    """The whole batch as one entry: boxes [N, K, 4], scores [N, K], labels [N, K]; empty slots: zeros, and label -1."""
    ranked = torch.where(self.peaks(scores), scores, -1.0).flatten(1)
    best, index = ranked.topk(self.detections_per_img)
    used = best > 0
    rows = index.unsqueeze(-1).expand(-1, -1, 4)
    return [
        {
            "boxes": boxes.flatten(1, 2).gather(1, rows) * used.unsqueeze(-1),
            "scores": best * used,
            "labels": torch.where(used, labels.flatten(1).gather(1, index), -1),
        }
    ]
