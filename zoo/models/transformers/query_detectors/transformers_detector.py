"""The detectors of transformers that find objects by queries, called as torchvision's are."""

from pathlib import Path
from typing import ClassVar

from torch import Tensor

from zoo.contract.coordinates import size_tensor
from zoo.models.transformers.query_detectors.detection_rules import Queries, detection_rule
from zoo.models.transformers.transformers_model import TransformersModel
from zoo.registry import MODELS


@MODELS.register_module()
class TransformersDetector(TransformersModel):
    """images float32 [N, 3, H, W], normalised -> N x {"boxes" [K, 4], "scores" [K], "labels" int64 [K]}.

    Boxes x1 y1 x2 y2 in pixels of the images. All K detections that the architecture's own rule gives, whatever their
    score: transformers' `post_process_object_detection` with a threshold of 0. A label is the class in id2label.
    `detections_per_img` is K. No image of a batch is padded.
    """

    heads: ClassVar[tuple[str, ...]] = ("OBJECT_DETECTION",)
    purpose: ClassVar[str] = "object detection"

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        settings = self.model.config
        self.rule = detection_rule(settings.model_type)
        number = getattr(settings, "num_queries", None) or settings.num_detection_tokens
        self.detections_per_img = self.rule.count(int(number), int(settings.num_labels))

    def forward(self, images: Tensor) -> list[dict[str, Tensor]]:
        queries = self.queries(images)
        detections = self.rule.detections(queries, self.detections_per_img)
        boxes = detections.boxes * pixels(images)
        rows = zip(boxes, detections.scores, detections.labels, strict=True)
        return [{"boxes": box, "scores": score, "labels": label} for box, score, label in rows]

    def outputs(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The model's own: logits [N, Q, C or C + 1], boxes [N, Q, 4], centre x, y, width, height, 0..1."""
        outputs = self.model(pixel_values=images)
        return outputs.logits, outputs.pred_boxes

    def queries(self, images: Tensor) -> Queries:
        """Before any is chosen."""
        return self.rule.queries(*self.outputs(images))


def pixels(images: Tensor) -> Tensor:
    """float32 [1, 1, 4]: width, height, width, height of the images, for boxes in units of them."""
    return size_tensor(*images.shape[-2:]).flip(-1).repeat(1, 2).to(images.dtype).unsqueeze(1)
