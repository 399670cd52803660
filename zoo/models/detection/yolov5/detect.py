"""The detection head: one map of each pyramid level, and the boxes that it stands for."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

STRIDES = (8, 16, 32)  # of the levels p3, p4, p5, in pixels of the image
BOX_AND_OBJECT = 5  # x, y, width, height, objectness


class Detect(nn.Module):
    """Feature maps of p3, p4, p5 -> logits [N, A * (5 + C), H/s, W/s] of each, s = 8, 16, 32.

    The channels of anchor a begin at a * (5 + C): x, y, w, h, objectness, then a class each. `anchors`: (w, h) in
    pixels, by level. The buffer holds them in strides, as the original's state dict does.
    """

    anchors: Tensor

    def __init__(
        self, num_classes: int, anchors: Sequence[Sequence[tuple[float, float]]], channels: Sequence[int]
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        pixels = torch.tensor(anchors, dtype=torch.float32)
        self.register_buffer("anchors", pixels / torch.tensor(STRIDES).reshape(-1, 1, 1))
        outputs = pixels.shape[1] * (BOX_AND_OBJECT + num_classes)
        self.m = nn.ModuleList(nn.Conv2d(count, outputs, 1) for count in channels)

    def forward(self, features: Sequence[Tensor]) -> list[Tensor]:
        return [conv(feature) for conv, feature in zip(self.m, features, strict=True)]

    def by_anchor(self, level: Tensor) -> Tensor:
        """[N, A * (5 + C), h, w] -> [N, A, h, w, 5 + C]."""
        height, width = level.shape[-2:]
        split = level.reshape(-1, self.anchors.shape[1], BOX_AND_OBJECT + self.num_classes, height, width)
        return split.permute(0, 1, 3, 4, 2)

    def decode(self, maps: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Sigmoid maps -> boxes float32 [N, M, 4], x1 y1 x2 y2 in pixels of the image, and scores float32 [N, M, C].

        M counts levels, anchors, rows and columns, the last fastest. A score is objectness times class.
        """
        boxes, scores = [], []
        for level, anchors, stride in zip(maps, self.anchors, STRIDES, strict=True):
            cells = self.by_anchor(level)
            center, side, objectness, classes = torch.split(cells, [2, 2, 1, self.num_classes], dim=-1)
            center = (center * 2 - 0.5 + _grid(level)) * stride
            half = (side * 2) ** 2 * (anchors * (stride / 2)).reshape(-1, 1, 1, 2)
            boxes.append(torch.cat((center - half, center + half), dim=-1).flatten(1, 3))
            scores.append((objectness * classes).flatten(1, 3))
        return torch.cat(boxes, dim=1), torch.cat(scores, dim=1)


def _grid(level: Tensor) -> Tensor:
    """(column, row) of each cell of a map [N, C, h, w]: float32 [h, w, 2]."""
    rows = torch.arange(level.shape[-2], dtype=level.dtype, device=level.device)
    columns = torch.arange(level.shape[-1], dtype=level.dtype, device=level.device)
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack((x, y), dim=-1)
