"""CenterPoint on pillars, its first stage, in plain torch, with torchvision's calling convention.

Source: Yin et al., Center-based 3D Object Detection and Tracking, CVPR 2021.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.pillars.anchors import HALF_TURN
from zoo.models.pillars.arguments import check_decisions
from zoo.models.pillars.center_losses import center_losses
from zoo.models.pillars.encoder import PillarEncoder
from zoo.models.pillars.grid import PillarGrid
from zoo.models.pillars.point_pillars import KITTI_RANGE
from zoo.models.pillars.suppression import suppressed
from zoo.models.pillars.trunk import Trunk, conv_norm
from zoo.registry import MODELS

PRIOR = 0.1  # score of a fresh head
WINDOW = 3  # of cells, in which a centre must be the largest


class CenterMaps(NamedTuple):
    """What the head gives for every cell, float32."""

    heatmap: Tensor
    """[N, C, h, w] logits: whether a cell holds the centre of an object of a class."""
    offset: Tensor
    """[N, 2, h, w] x and y of the centre from the low corner of the cell, in cells."""
    height: Tensor
    """[N, 1, h, w] z of the centre, metres."""
    size: Tensor
    """[N, 3, h, w] logarithms of length, width and height, metres."""
    rotation: Tensor
    """[N, 2, h, w] sine and cosine of the yaw, times any positive number."""

    def codes(self) -> Tensor:
        """All but the heatmap, by cell: [N, h * w, 8]."""
        return torch.cat(self[1:], dim=1).flatten(2).transpose(1, 2)


@MODELS.register_module()
class CenterPoint(nn.Module):
    """Point clouds, N x float32 [n, 4] -> N x {"boxes" float32 [n, 7], "scores" [n], "labels" int64 [n]}, best first.

    Labels from 0. In training mode, with `targets` N x {"boxes", "labels"}, it gives the losses instead.

    `point_range`: lowest x y z, then highest, metres. A cell whose score for a class is the largest of the 3 x 3 cells
    around it, and above `score_thresh`, is a candidate; the best `topk_candidates` meet in NMS from above with
    `nms_thresh`, each class by itself, and the best `detections_per_img` are kept.
    """

    def __init__(
        self,
        num_classes: int = 3,
        point_range: Sequence[float] = KITTI_RANGE,
        pillar_size: float = 0.16,
        pillar_channels: int = 64,
        channels: Sequence[int] = (64, 128, 256),
        depths: Sequence[int] = (3, 5, 5),
        strides: Sequence[int] = (2, 2, 2),
        up_channels: Sequence[int] = (128, 128, 128),
        head_channels: int = 64,
        *,
        score_thresh: float = 0.1,
        nms_thresh: float = 0.2,
        topk_candidates: int = 100,
        detections_per_img: int = 50,
    ) -> None:
        super().__init__()
        check_decisions(
            score_thresh=score_thresh,
            nms_thresh=nms_thresh,
            topk_candidates=topk_candidates,
            detections_per_img=detections_per_img,
        )
        self.num_classes = num_classes
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.topk_candidates, self.detections_per_img = topk_candidates, detections_per_img
        self.stride = strides[0]
        """Pillars along a side of a cell of the head's maps."""
        self.encoder = PillarEncoder(PillarGrid.of_range(point_range, pillar_size, strides), pillar_channels)
        self.trunk = Trunk(pillar_channels, channels, depths, strides, up_channels)
        self.head = CenterHead(self.trunk.out_channels, head_channels, num_classes)

    @property
    def cell(self) -> float:
        """Side of a cell of the head's maps, metres."""
        return self.encoder.grid.side * self.stride

    @property
    def low(self) -> tuple[float, float]:
        """x and y of the low corner of the first cell, metres."""
        return self.encoder.grid.low[:2]

    def forward(
        self, points: Sequence[Tensor], targets: Sequence[Mapping[str, Tensor]] | None = None
    ) -> list[dict[str, Tensor]] | dict[str, Tensor]:
        maps = CenterMaps(*self.head(self.trunk(self.encoder(points))))
        if self.training:
            if targets is None:
                raise ValueError("CenterPoint in training mode needs targets; call eval() for detections")
            return center_losses(maps, self.low, self.cell, targets)
        return self.postprocess_detections(*maps)

    def postprocess_detections(
        self, heatmap: Tensor, offset: Tensor, height: Tensor, size: Tensor, rotation: Tensor
    ) -> list[dict[str, Tensor]]:
        """The head's maps -> the detections of each cloud."""
        codes = CenterMaps(heatmap, offset, height, size, rotation).codes()
        return [self._detected(*cloud) for cloud in zip(self.peaks(heatmap), codes, strict=True)]

    def peaks(self, heatmap: Tensor) -> Tensor:
        """-> scores [N, h * w, C], 0 where a cell is not the largest of its window."""
        scores = heatmap.sigmoid()
        scores = torch.where(scores == F.max_pool2d(scores, WINDOW, 1, WINDOW // 2), scores, 0.0)
        return scores.flatten(2).transpose(1, 2)

    def decoded(self, codes: Tensor, cells: Tensor) -> Tensor:
        """codes [..., 8], the number of each one's cell int64 [...] -> boxes [..., 7]."""
        columns = self.encoder.grid.columns // self.stride
        row = cells // columns
        place = torch.stack((cells - row * columns, row), dim=-1).to(codes.dtype)
        x, y = ((place + codes[..., :2]) * self.cell).unbind(-1)
        sine, cosine = codes[..., 6], codes[..., 7]
        yaw = torch.atan2(sine, cosine)
        yaw = torch.where(yaw >= HALF_TURN, yaw - 2 * HALF_TURN, yaw)
        center = torch.stack((x + self.low[0], y + self.low[1], codes[..., 2]), dim=-1)
        return torch.cat((center, codes[..., 3:6].exp(), yaw[..., None]), dim=-1)

    def all_cells(self) -> Tensor:
        """Their numbers, int64 [M]."""
        count = self.encoder.grid.rows * self.encoder.grid.columns // self.stride**2
        return torch.arange(count, device=next(self.parameters()).device)

    def _detected(self, scores: Tensor, codes: Tensor) -> dict[str, Tensor]:
        """Of one cloud: scores [M, C], codes [M, 8]."""
        pairs = scores.flatten()
        above = (pairs > self.score_thresh).nonzero()[:, 0]
        best = above[pairs[above].argsort(descending=True, stable=True)[: self.topk_candidates]]
        cells, labels = best // self.num_classes, best % self.num_classes
        candidates = {"boxes": self.decoded(codes[cells], cells), "scores": pairs[best], "labels": labels}
        return suppressed(candidates, self.nms_thresh, self.detections_per_img)


class CenterHead(nn.Module):
    """features [N, F, h, w] -> heatmap, offset, height, size, rotation: see CenterMaps."""

    def __init__(self, in_channels: int, channels: int, num_classes: int) -> None:
        super().__init__()
        self.shared = conv_norm(in_channels, channels, 3)
        widths = (num_classes, 2, 1, 3, 2)
        self.branches = nn.ModuleList(
            nn.Sequential(conv_norm(channels, channels, 3), nn.Conv2d(channels, width, 3, padding=1))
            for width in widths
        )
        heat = self.branches[0]
        assert isinstance(heat, nn.Sequential)
        assert isinstance(heat[1], nn.Conv2d)
        assert heat[1].bias is not None
        nn.init.constant_(heat[1].bias, -math.log((1 - PRIOR) / PRIOR))

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        shared = self.shared(features)
        return tuple(branch(shared) for branch in self.branches)
