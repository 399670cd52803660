"""Detections of every family, at level final."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from zoo.contract.contract import Contract
from zoo.contract.padding import batched

EMPTY_LABEL = -1


class DetectionFinal(Contract):
    """-> num_dets int64 [N], boxes float32 [N, K, 4], scores float32 [N, K], labels int64 [N, K].

    Boxes in pixels of the tensor given; unused slots hold zeros, and label -1.
    """

    def __init__(self, model: GeneralizedRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.num_slots: int = model.roi_heads.detections_per_img

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        detections: list[dict[str, Tensor]] = self.model(images, **self.forward_options)
        boxes = batched([entry["boxes"] for entry in detections], self.num_slots, rank=3)
        scores = batched([entry["scores"] for entry in detections], self.num_slots, rank=2)
        labels = batched([entry["labels"] for entry in detections], self.num_slots, rank=2, fill=EMPTY_LABEL)
        return (labels != EMPTY_LABEL).sum(dim=1), boxes, scores, labels
