"""PointPillars, in plain torch, with torchvision's calling convention.

Source: Lang et al., PointPillars: Fast Encoders for Object Detection from Point Clouds, CVPR 2019.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from zoo.errors import InputError
from zoo.models.pillars.anchor_losses import anchor_losses
from zoo.models.pillars.anchors import YAWS, ClassAnchor, anchor_boxes, decoded, directed, direction_margins
from zoo.models.pillars.arguments import check_decisions
from zoo.models.pillars.encoder import PillarEncoder
from zoo.models.pillars.grid import PillarGrid
from zoo.models.pillars.suppression import suppressed
from zoo.models.pillars.trunk import Trunk
from zoo.registry import MODELS

BOX, DIRECTIONS = 7, 2
ANCHORS_OF_CLASS = len(YAWS)
PRIOR = 0.01  # score of a fresh head
KITTI_RANGE = (0.0, -39.68, -3.0, 69.12, 39.68, 1.0)
KITTI_ANCHORS = (
    {"size": (3.9, 1.6, 1.5), "z": -1.0, "matched": 0.6, "unmatched": 0.45},
    {"size": (0.8, 0.6, 1.73), "z": -0.6, "matched": 0.5, "unmatched": 0.35},
    {"size": (1.76, 0.6, 1.73), "z": -0.6, "matched": 0.5, "unmatched": 0.35},
)
"""Of cars, pedestrians and cyclists."""


class AnchorMaps(NamedTuple):
    """What the head gives for every anchor, by row, column, class and yaw of the anchor."""

    class_logits: Tensor
    """[N, M, C]"""
    box_codes: Tensor
    """[N, M, 7]"""
    direction_logits: Tensor
    """[N, M, 2]"""


@MODELS.register_module()
class PointPillars(nn.Module):
    """Point clouds, N x float32 [n, 4] -> N x {"boxes" float32 [n, 7], "scores" [n], "labels" int64 [n]}, best first.

    Beside them "direction_margins" [n]: how far the heading is from the opposite one. Labels from 0. In training mode,
    with `targets` N x {"boxes", "labels"}, it gives the losses instead.

    `point_range`: lowest x y z, then highest, metres. `anchors`: of each class, see ClassAnchor. An anchor's best class
    is a candidate where its score is above `score_thresh`; the best `topk_candidates` meet in NMS from above with
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
        anchors: Sequence[Mapping[str, Any]] = KITTI_ANCHORS,
        *,
        score_thresh: float = 0.1,
        nms_thresh: float = 0.01,
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
        if len(anchors) != num_classes:
            raise InputError(f"anchors: got {len(anchors)}, expected one of each class, num_classes={num_classes}")
        grid = PillarGrid.of_range(point_range, pillar_size, strides)
        self.class_anchors = tuple(ClassAnchor(**section) for section in anchors)
        self.encoder = PillarEncoder(grid, pillar_channels)
        self.trunk = Trunk(pillar_channels, channels, depths, strides, up_channels)
        self.head = AnchorHead(self.trunk.out_channels, num_classes * ANCHORS_OF_CLASS, num_classes)
        self.anchors: Tensor
        self.register_buffer("anchors", anchor_boxes(grid, strides[0], self.class_anchors), persistent=False)

    def forward(
        self, points: Sequence[Tensor], targets: Sequence[Mapping[str, Tensor]] | None = None
    ) -> list[dict[str, Tensor]] | dict[str, Tensor]:
        maps = AnchorMaps(*self.head(self.trunk(self.encoder(points))))
        if self.training:
            if targets is None:
                raise ValueError("PointPillars in training mode needs targets; call eval() for detections")
            return anchor_losses(maps, self.anchors, self.class_anchors, targets)
        return self.postprocess_detections(*maps)

    def postprocess_detections(
        self, class_logits: Tensor, box_codes: Tensor, direction_logits: Tensor
    ) -> list[dict[str, Tensor]]:
        """[N, M, C], [N, M, 7], [N, M, 2] -> the detections of each cloud."""
        return [self._detected(*cloud) for cloud in zip(class_logits, box_codes, direction_logits, strict=True)]

    def _detected(self, class_logits: Tensor, box_codes: Tensor, direction_logits: Tensor) -> dict[str, Tensor]:
        """Of one cloud."""
        scores, labels = class_logits.sigmoid().max(dim=1)
        above = (scores > self.score_thresh).nonzero()[:, 0]
        best = above[scores[above].argsort(descending=True, stable=True)[: self.topk_candidates]]
        boxes, logits = decoded(box_codes[best], self.anchors[best]), direction_logits[best]
        candidates = {
            "boxes": directed(boxes, logits),
            "scores": scores[best],
            "labels": labels[best],
            "direction_margins": direction_margins(boxes, logits),
        }
        return suppressed(candidates, self.nms_thresh, self.detections_per_img)


class AnchorHead(nn.Module):
    """features [N, F, h, w] -> class logits [N, M, C], box codes [N, M, 7], direction logits [N, M, 2].

    M counts rows, columns and the `anchors` of a place, the last fastest.
    """

    def __init__(self, in_channels: int, anchors: int, num_classes: int) -> None:
        super().__init__()
        self.classes = nn.Conv2d(in_channels, anchors * num_classes, 1)
        self.boxes = nn.Conv2d(in_channels, anchors * BOX, 1)
        self.directions = nn.Conv2d(in_channels, anchors * DIRECTIONS, 1)
        self.widths = (num_classes, BOX, DIRECTIONS)
        assert self.classes.bias is not None
        nn.init.constant_(self.classes.bias, -math.log((1 - PRIOR) / PRIOR))

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        convs = (self.classes, self.boxes, self.directions)
        return tuple(by_place(conv(features), width) for conv, width in zip(convs, self.widths, strict=True))


def by_place(map_: Tensor, width: int) -> Tensor:
    """[N, A * width, h, w] -> [N, h * w * A, width]."""
    return map_.permute(0, 2, 3, 1).reshape(map_.shape[0], -1, width)
