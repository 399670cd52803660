"""A detector of one's own, and its family."""

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.contract.constants import Case, Constant
from zoo.contract.constants.constant import constant
from zoo.contract.constants.detection import kept
from zoo.families import Generic, register
from zoo.registry import MODELS


@MODELS.register_module()
class SpotDetector(nn.Module):
    """images float32 [N, 3, H, W] -> N x {"boxes" float32 [n, 4], "scores" float32 [n], "labels" int64 [n]}.

    A cell of `cell` x `cell` pixels is a detection where its best score is above `score_thresh`, and above those of the
    eight cells around it; of these the best `detections_per_img` are kept.
    """

    def __init__(
        self, num_classes: int, cell: int = 16, *, score_thresh: float = 0.3, detections_per_img: int = 20
    ) -> None:
        super().__init__()
        self.num_classes, self.size_divisor = num_classes, cell
        self.score_thresh, self.detections_per_img = score_thresh, detections_per_img
        self.stem = nn.Conv2d(3, 32, cell, cell)
        self.head = nn.Conv2d(32, num_classes + 4, 3, padding=1)

    def forward(self, images: Tensor) -> list[dict[str, Tensor]]:
        maps = self.head(F.relu(self.stem(images - 0.5)))
        scores, labels = maps[:, : self.num_classes].sigmoid().max(dim=1)
        return self.spots(scores, labels, self.boxes(maps[:, self.num_classes :]))

    def boxes(self, offsets: Tensor) -> Tensor:
        """Offsets [N, 4, h, w] of the cells -> boxes [N, h, w, 4] in pixels, around the centres of their cells."""
        rows, columns = (torch.arange(side, dtype=offsets.dtype) + 0.5 for side in offsets.shape[2:])
        centers = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), dim=-1)
        sides = offsets.sigmoid().permute(0, 2, 3, 1) * 2
        return torch.cat((centers - sides[..., :2], centers + sides[..., 2:]), dim=-1) * self.size_divisor

    def spots(self, scores: Tensor, labels: Tensor, boxes: Tensor) -> list[dict[str, Tensor]]:
        """Scores and labels [N, h, w], boxes [N, h, w, 4] -> the detections of each image, best first."""
        detections = []
        for place, score, label, box in zip(self.peaks(scores), scores, labels, boxes, strict=True):
            order = score[place].argsort(descending=True)[: self.detections_per_img]
            detections.append(
                {"boxes": box[place][order], "scores": score[place][order], "labels": label[place][order]}
            )
        return detections

    def peaks(self, scores: Tensor) -> Tensor:
        """bool [N, h, w]: the cells that are detections."""
        return (scores > self.score_thresh) & (scores == F.max_pool2d(scores[:, None], 3, 1, 1)[:, 0])


@register(SpotDetector)
class SpotFamily(Generic):
    """Its contract is that of every detector; it adds its rewriters, and the constants that its graphs must hold."""

    name: ClassVar[str] = "SpotDetector"
    rewriters: ClassVar[str | None] = "spot_rewriters"

    def constants(self, model: Any, case: Case) -> Iterator[Constant]:
        """The threshold, and how many are kept."""
        if case.level == "final":
            yield constant("score threshold", "", model.score_thresh, "Greater")
            yield from kept("detections of an image", "", [model.detections_per_img])
