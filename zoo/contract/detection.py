"""Detections at level final."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from zoo.contract.contract import Contract
from zoo.contract.padding import batched
from zoo.contract.valid_regions import valid_regions

EMPTY_LABEL = -1


class DetectionFinal(Contract):
    """-> num_dets int64 [N], boxes float32 [N, K, 4], scores float32 [N, K], labels int64 [N, K].

    Boxes in pixels of the tensor given; unused slots hold zeros, and label -1. `image_sizes` int64 [N, 2]: where the
    images of a padded batch end, (h, w) with 1 <= h <= H and 1 <= w <= W; the detections are those that the model
    makes of the list of images without their padding.
    """

    def __init__(self, model: nn.Module, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.num_slots: int = self.most(model)

    def most(self, model: Any) -> int:
        """How many detections the model gives for an image at most."""
        most: int = model.detections_per_img
        return most

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        return self.tensors(self.detections(images, image_sizes))

    def detections(self, images: Tensor, image_sizes: Tensor | None) -> list[dict[str, Tensor]]:
        """The model's own dictionaries, one for each image."""
        inputs = images if image_sizes is None else valid_regions(images, image_sizes)
        detections: list[dict[str, Tensor]] = self.model(inputs, **self.forward_options)
        return detections

    def tensors(self, detections: list[dict[str, Tensor]]) -> tuple[Tensor, ...]:
        """The contract's tensors from torchvision's dictionaries."""
        boxes = self.slots([entry["boxes"] for entry in detections], rank=3)
        scores = self.slots([entry["scores"] for entry in detections], rank=2)
        labels = self.slots([entry["labels"] for entry in detections], rank=2, fill=EMPTY_LABEL)
        return (labels != EMPTY_LABEL).sum(dim=1), boxes, scores, labels

    def slots(self, entries: Sequence[Tensor], *, rank: int, fill: float = 0.0) -> Tensor:
        """Entries [n, ...] of single images, or one padded batch [N, n, ...] of `rank` axes -> [N, K, ...]."""
        return batched(entries, self.num_slots, rank=rank, fill=fill)
