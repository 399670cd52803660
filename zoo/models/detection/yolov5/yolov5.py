"""YOLOv5 n, s and their like, with torchvision's calling convention and the original's parameter names.

Source: the YOLOv5 architecture page, https://docs.ultralytics.com/yolov5/tutorials/architecture_description/; the
release 6.0 and later (a 6x6 stem, SPPF). A state dict of the original's float32 model loads unchanged.
"""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torchvision.ops import batched_nms, nms

from zoo.models.detection.yolov5.detect import BOX_AND_OBJECT, STRIDES, Detect
from zoo.models.detection.yolov5.layers import C3, SPPF, Concat, Conv
from zoo.models.detection.yolov5.loss import yolov5_losses
from zoo.registry import MODELS

COCO_ANCHORS = (
    ((10, 13), (16, 30), (33, 23)),
    ((30, 61), (62, 45), (59, 119)),
    ((116, 90), (156, 198), (373, 326)),
)
PRIOR_OBJECTS, PRIOR_SIZE = 8, 640  # a fresh head expects 8 objects in an image of 640 x 640 pixels
PRIOR_CLASS = 0.6


@MODELS.register_module()
class YOLOv5(nn.Module):
    """images -> N x {"boxes" float32 [n, 4], "scores" float32 [n], "labels" int64 [n]}, best first.

    Images: float32 [N, 3, H, W], or N x [3, H, W] of one size, RGB, 0..1, H and W multiples of 32. Boxes x1 y1 x2 y2 in
    pixels of that image, not clipped to it; labels from 0, no background. In training mode, with `targets` as
    torchvision's detectors take them, it gives the losses instead.

    `anchors`: three (w, h) in pixels for each of p3, p4, p5. `depth`, `width`: the multiples that make n (0.33, 0.25)
    and s (0.33, 0.5). An anchor's best class is a candidate where its score is above `score_thresh`; the best
    `topk_candidates` meet in NMS with `nms_thresh`, each class by itself unless `class_agnostic`.
    """

    size_divisor = STRIDES[-1]
    """Height and width of the images are multiples of it."""

    def __init__(
        self,
        num_classes: int,
        anchors: Sequence[Sequence[tuple[float, float]]] = COCO_ANCHORS,
        depth: float = 0.33,
        width: float = 0.25,
        *,
        score_thresh: float = 0.25,
        nms_thresh: float = 0.45,
        topk_candidates: int = 1000,
        detections_per_img: int = 300,
        class_agnostic: bool = False,
    ) -> None:
        super().__init__()
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.topk_candidates, self.detections_per_img = topk_candidates, detections_per_img
        self.class_agnostic = class_agnostic
        self.model = nn.Sequential(*_layers(num_classes, anchors, depth, width))
        _initialize(self.head)

    @property
    def backbone(self) -> nn.Sequential:
        """The first ten layers: images [N, 3, H, W] -> features [N, C, H/32, W/32]."""
        return self.model[:10]

    @property
    def head(self) -> Detect:
        """The last layer."""
        head = self.model[-1]
        assert isinstance(head, Detect)
        return head

    def anchors_in_pixels(self) -> Tensor:
        """(w, h) of the anchors, float32 [levels, A, 2]."""
        return self.head.anchors * torch.tensor(STRIDES, device=self.head.anchors.device).reshape(-1, 1, 1)

    def forward(
        self, images: Tensor | Sequence[Tensor], targets: Sequence[Mapping[str, Tensor]] | None = None
    ) -> list[dict[str, Tensor]] | dict[str, Tensor]:
        logits = self.logits(images if isinstance(images, Tensor) else torch.stack(list(images)))
        if self.training:
            if targets is None:
                raise ValueError("YOLOv5 in training mode needs targets; call eval() for detections")
            by_anchor = [self.head.by_anchor(level) for level in logits]
            return yolov5_losses(by_anchor, self.head.anchors, STRIDES, targets)
        boxes, scores = self.head.decode([level.sigmoid() for level in logits])
        return self.postprocess_detections(boxes, scores)

    def logits(self, images: Tensor) -> list[Tensor]:
        """images [N, 3, H, W] -> the head's logits [N, A * (5 + C), H/s, W/s] for s = 8, 16, 32."""
        m = self.model
        c3 = m[:5](images)
        c4 = m[5:7](c3)
        n5 = m[10](m[7:10](c4))
        n4 = m[14](m[13](m[12]((m[11](n5), c4))))
        p3 = m[17](m[16]((m[15](n4), c3)))
        p4 = m[20](m[19]((m[18](p3), n4)))
        p5 = m[23](m[22]((m[21](p4), n5)))
        maps: list[Tensor] = self.head((p3, p4, p5))
        return maps

    def postprocess_detections(self, boxes: Tensor, scores: Tensor) -> list[dict[str, Tensor]]:
        """boxes [N, M, 4], scores [N, M, C] -> the detections of each image."""
        return [self._suppressed(*image) for image in zip(boxes, scores, strict=True)]

    def _suppressed(self, boxes: Tensor, scores: Tensor) -> dict[str, Tensor]:
        """Of one image, boxes [M, 4], scores [M, C]."""
        best, labels = scores.max(dim=1)
        candidates = best > self.score_thresh
        if not candidates.any():
            return {"boxes": boxes[:0], "scores": best[:0], "labels": labels[:0]}
        boxes, best, labels = boxes[candidates], best[candidates], labels[candidates]
        order = best.argsort(descending=True)[: self.topk_candidates]
        boxes, best, labels = boxes[order], best[order], labels[order]
        if self.class_agnostic:
            kept = nms(boxes, best, self.nms_thresh)
        else:
            kept = batched_nms(boxes, best, labels, self.nms_thresh)
        kept = kept[: self.detections_per_img]
        return {"boxes": boxes[kept], "scores": best[kept], "labels": labels[kept]}


def _layers(
    num_classes: int, anchors: Sequence[Sequence[tuple[float, float]]], depth: float, width: float
) -> list[nn.Module]:
    """The layers by the original's numbers; `YOLOv5.logits` says how they are joined."""
    c64, c128, c256, c512, c1024 = (8 * math.ceil(width * count / 8) for count in (64, 128, 256, 512, 1024))
    d3, d6, d9 = (max(round(depth * count), 1) for count in (3, 6, 9))
    return [
        Conv(3, c64, 6, 2, 2),
        Conv(c64, c128, 3, 2),
        C3(c128, c128, d3),
        Conv(c128, c256, 3, 2),
        C3(c256, c256, d6),
        Conv(c256, c512, 3, 2),
        C3(c512, c512, d9),
        Conv(c512, c1024, 3, 2),
        C3(c1024, c1024, d3),
        SPPF(c1024, c1024),
        Conv(c1024, c512),  # 10
        nn.Upsample(scale_factor=2.0, mode="nearest"),
        Concat(),
        C3(2 * c512, c512, d3, shortcut=False),
        Conv(c512, c256),
        nn.Upsample(scale_factor=2.0, mode="nearest"),
        Concat(),
        C3(2 * c256, c256, d3, shortcut=False),
        Conv(c256, c256, 3, 2),
        Concat(),
        C3(2 * c256, c512, d3, shortcut=False),  # 20
        Conv(c512, c512, 3, 2),
        Concat(),
        C3(2 * c512, c1024, d3, shortcut=False),
        Detect(num_classes, anchors, (c256, c512, c1024)),
    ]


def _initialize(head: Detect) -> None:
    """Biases for which a fresh head finds as few objects as there are."""
    for conv, stride in zip(head.m, STRIDES, strict=True):
        assert isinstance(conv, nn.Conv2d)
        assert conv.bias is not None
        with torch.no_grad():
            bias = conv.bias.view(-1, BOX_AND_OBJECT + head.num_classes)
            bias[:, 4] += math.log(PRIOR_OBJECTS / (PRIOR_SIZE / stride) ** 2)
            bias[:, BOX_AND_OBJECT:] += math.log(PRIOR_CLASS / (head.num_classes - 0.99999))
