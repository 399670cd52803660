"""The detectors of transformers that find objects by queries, called as torchvision's are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from zoo.contract.coordinates import size_tensor
from zoo.models.transformers.architecture import find_architecture
from zoo.models.transformers.query_detectors.detection_rules import Detections, detection_rule
from zoo.models.transformers.transformers_model import TransformersModel, one_source
from zoo.registry import MODELS


@MODELS.register_module()
class TransformersDetector(TransformersModel):
    """images float32 [N, 3, H, W], normalised -> N x {"boxes" [K, 4], "scores" [K], "labels" int64 [K]}.

    Boxes x1 y1 x2 y2 in pixels of the images. All K detections that the architecture's own rule gives, whatever their
    score: transformers' `post_process_object_detection` with a threshold of 0. A label is the class in id2label.
    `detections_per_img` is K; `size_divisor` divides the sides of the images. No image of a batch is padded.

    In training also N x {"boxes" [n, 4], in pixels, "labels" int64 [n]} -> {"loss"}, the architecture's own: the sum of
    its terms, of the decoder's layers and, where it has them, of queries that are noisy boxes. As in torchvision.
    """

    heads: ClassVar[tuple[str, ...]] = ("OBJECT_DETECTION",)
    purpose: ClassVar[str] = "object detection"
    task: ClassVar[str] = "Detection"

    def __init__(
        self,
        folder: str | Path | None = None,
        architecture: Mapping[str, Any] | None = None,
        num_classes: int | None = None,
    ) -> None:
        _, settings = find_architecture(one_source(folder, architecture), self.heads, self.purpose)
        self.rule = detection_rule(settings.model_type)  # before a large model is built in vain
        super().__init__(folder, architecture, num_classes)
        self.size_divisor = divisor_of(settings)
        self.detections_per_img = self.rule.number(number_of_queries(settings), int(self.model.config.num_labels))

    def forward(
        self, images: Tensor, targets: Sequence[Mapping[str, Tensor]] | None = None
    ) -> list[dict[str, Tensor]] | dict[str, Tensor]:
        if targets is not None:
            labels = [
                {"class_labels": target["labels"], "boxes": unit_boxes(target["boxes"], images)} for target in targets
            ]
            return {"loss": self.model(pixel_values=images, labels=labels).loss}
        outputs = self.model(pixel_values=images)
        queries = self.rule.queries(outputs.logits, outputs.pred_boxes)
        detections = self.rule.detections(queries, self.detections_per_img)
        return self.by_image(detections._replace(boxes=detections.boxes * pixels(images)))

    def by_image(self, detections: Detections) -> list[dict[str, Tensor]]:
        """A batch's detections as torchvision's dictionaries."""
        return [
            {"boxes": boxes, "scores": scores, "labels": labels}
            for boxes, scores, labels in zip(*detections, strict=True)
        ]


def number_of_queries(settings: Any) -> int:
    """How many queries the model of a configuration has for an image."""
    if getattr(settings, "two_stage", False) and hasattr(settings, "two_stage_num_proposals"):
        return int(settings.two_stage_num_proposals)  # Deformable DETR: each proposal is a query
    return int(getattr(settings, "num_queries", None) or settings.num_detection_tokens)  # the latter of YOLOS


def divisor_of(settings: Any) -> int:
    """What divides the sides of the images: the largest stride of an encoder that adds up its levels, or a window."""
    if strides := getattr(settings, "feat_strides", None):
        return int(max(strides))
    backbone: Any = getattr(settings, "backbone_config", None)
    windows: Any = getattr(backbone, "num_windows_side", None) or getattr(backbone, "num_windows", 1)
    return int(backbone.patch_size * windows) if windows > 1 else 1


def unit_boxes(boxes: Tensor, images: Tensor) -> Tensor:
    """float32 [n, 4] x1 y1 x2 y2 in pixels -> centre x, y, width, height in units of the images'."""
    corners = boxes / pixels(images)[0]
    low, high = corners[:, :2], corners[:, 2:]
    return torch.cat(((low + high) / 2, high - low), dim=1)


def pixels(images: Tensor) -> Tensor:
    """float32 [1, 1, 4]: width, height, width, height of the images, for boxes in units of them."""
    return size_tensor(*images.shape[-2:]).flip(-1).repeat(1, 2).to(images.device, images.dtype).unsqueeze(1)
