"""MmdetDetector at level final."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from zoo.errors import InputError
from zoo.tasks.detection.proof.contracts import DetectionFinal
from zoo.tasks.instance_segmentation.proof.contracts import InstanceSegmentationFinal


class MmdetFinal(DetectionFinal):
    """As DetectionFinal. mmdetection pads normalised images with zeros: image_sizes say where they end."""

    def detections(self, images: Tensor, image_sizes: Tensor | None) -> list[dict[str, Tensor]]:
        """The model's own dictionaries, one for each image."""
        detections: list[dict[str, Tensor]] = self.model(images, image_sizes, **self.forward_options)
        return detections


class MmdetInstances(MmdetFinal, InstanceSegmentationFinal):
    """As InstanceSegmentationFinal. Raises InputError for a model without masks."""

    def __init__(self, model: Any, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        if not model.mask_heads:
            raise InputError(f"{type(model.model).__name__} gives no masks of boxes, which instance-segmentation needs")
