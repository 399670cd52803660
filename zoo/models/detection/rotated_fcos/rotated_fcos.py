"""FCOS for rotated boxes, with torchvision's calling convention.

Source: Tian et al., FCOS: Fully Convolutional One-Stage Object Detection, ICCV 2019; with an angle for each place, as
mmrotate's RotatedFCOS has it, and the scores of torchvision's FCOS.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.models.detection.rotated_fcos.head import RotatedFCOSHead, decode, places
from zoo.models.detection.rotated_fcos.loss import rotated_fcos_losses
from zoo.models.detection.rotated_fcos.targets import assigned, limits_of_places
from zoo.models.rotated_nms import class_rotated_nms
from zoo.registry import MODELS

Levels = Mapping[str, Sequence[Tensor]]
"""Of the head: by name, for each level of the pyramid."""


@MODELS.register_module()
class RotatedFCOS(nn.Module):
    """images -> N x {"boxes" float32 [n, 5], "scores" float32 [n], "labels" int64 [n]}, best first.

    Images: float32 [N, 3, H, W], or N x [3, H, W] of one size, RGB, 0..1, H and W multiples of 32. Boxes x y w h in
    pixels of that image, angle in radians as the head gives it, of any range; labels from 0, no background. In training
    mode, with `targets` of such boxes and labels, it gives the losses instead.

    `limits`: between the pyramid's levels, of an object's longest distance from a place, in pixels. Of each level the
    `topk_candidates` best pairs of place and class with a score above `score_thresh` meet in NMS, each class by itself,
    with the exact overlap of rotated boxes and `nms_thresh`. A graph computes the overlaps of all pairs of candidates:
    twice as many take four times the memory.
    """

    size_divisor = 32
    """Height and width of the images are multiples of it."""

    def __init__(
        self,
        num_classes: int,
        backbone: dict[str, Any],
        limits: Sequence[float] = (64, 128, 256, 512),
        head_convs: int = 4,
        head_norm_groups: int = 32,
        *,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.1,
        topk_candidates: int = 200,
        detections_per_img: int = 300,
    ) -> None:
        super().__init__()
        self.backbone = ResNetFPN(**backbone)
        self.strides = self.backbone.strides
        self.limits = tuple(limits)
        if len(self.limits) != len(self.strides) - 1:
            raise ValueError(f"RotatedFCOS: got {len(self.limits)} limits, expected {len(self.strides) - 1}")
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.topk_candidates, self.detections_per_img = topk_candidates, detections_per_img
        channels = self.backbone.out_channels
        self.head = RotatedFCOSHead(channels, num_classes, len(self.strides), head_convs, head_norm_groups)

    def forward(
        self, images: Tensor | Sequence[Tensor], targets: Sequence[Mapping[str, Tensor]] | None = None
    ) -> list[dict[str, Tensor]] | dict[str, Tensor]:
        features = list(self.backbone(images if isinstance(images, Tensor) else torch.stack(list(images))).values())
        head, centers = self.head(features), places(features, self.strides)
        if self.training:
            if targets is None:
                raise ValueError("RotatedFCOS in training mode needs targets; call eval() for detections")
            return self.losses(head, centers, targets)
        return self.postprocess_detections(self.boxes(head, centers), self.scores(head))

    def losses(
        self, head: Levels, centers: Sequence[Tensor], targets: Sequence[Mapping[str, Tensor]]
    ) -> dict[str, Tensor]:
        """The head's tensors and the centres of places, by level -> scalars."""
        counts = [len(level) for level in centers]
        every = torch.cat(list(centers))
        strides = torch.cat([every.new_full((n,), stride) for n, stride in zip(counts, self.strides, strict=True)])
        limits = limits_of_places(counts, self.limits).to(every)
        chosen = [assigned(every, strides, limits, target["boxes"]) for target in targets]
        whole = {name: torch.cat(list(levels), dim=1) for name, levels in head.items()}
        return rotated_fcos_losses(whole, every, strides, targets, chosen)

    def boxes(self, head: Levels, centers: Sequence[Tensor]) -> list[Tensor]:
        """The head's tensors and the centres of places, by level -> boxes float32 [N, A, 5] by level."""
        levels = zip(head["distances"], head["angles"], centers, self.strides, strict=True)
        return [decode(distances * stride, angles, center) for distances, angles, center, stride in levels]

    def scores(self, head: Levels) -> list[Tensor]:
        """[N, A, C] by level: the geometric mean of the class's score and that of being near the object's centre."""
        levels = zip(head["cls_logits"], head["centerness"], strict=True)
        return [torch.sqrt(logits.sigmoid() * centerness.sigmoid()) for logits, centerness in levels]

    def postprocess_detections(self, boxes: Sequence[Tensor], scores: Sequence[Tensor]) -> list[dict[str, Tensor]]:
        """boxes [N, A, 5] and scores [N, A, C] by level -> the detections of each image."""
        images = zip(zip(*boxes, strict=True), zip(*scores, strict=True), strict=True)
        return [self._suppressed(*image) for image in images]

    def _suppressed(self, boxes: Sequence[Tensor], scores: Sequence[Tensor]) -> dict[str, Tensor]:
        """Of one image, boxes [A, 5] and scores [A, C] by level."""
        levels = [self._candidates(*level) for level in zip(boxes, scores, strict=True)]
        candidates = dict(zip(("boxes", "scores", "labels"), map(torch.cat, zip(*levels, strict=True)), strict=True))
        best = class_rotated_nms(**candidates, iou_threshold=self.nms_thresh)[: self.detections_per_img]
        return {name: values[best] for name, values in candidates.items()}

    def _candidates(self, boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of one level, boxes [A, 5], scores [A, C] -> the best pairs: boxes [k, 5], scores [k], labels int64 [k]."""
        flat = scores.flatten()
        above = (flat > self.score_thresh).nonzero()[:, 0]
        pairs = above[flat[above].topk(min(len(above), self.topk_candidates)).indices]
        return boxes[pairs // scores.shape[1]], flat[pairs], pairs % scores.shape[1]
