"""Instances of torchvision's Mask R-CNN, at level final."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from zoo.contract.detection import DetectionFinal
from zoo.contract.image_masks import image_masks
from zoo.contract.padding import batched
from zoo.errors import InputError
from zoo.tasks.instance_segmentation.proof.head_masks import head_masks


class InstanceSegmentationFinal(DetectionFinal):
    """-> the outputs of DetectionFinal, and masks float32 [N, K, 28, 28]: probabilities in cells of the box.

    Raises InputError for a model without masks.
    """

    def __init__(self, model: GeneralizedRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        if not model.roi_heads.has_mask():
            raise InputError(f"model {type(model).__name__} gives no masks, which instance-segmentation needs")

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        return self.instances(images, image_sizes)[0]

    def instances(
        self, images: Tensor, image_sizes: Tensor | None
    ) -> tuple[tuple[Tensor, ...], list[dict[str, Tensor]]]:
        """The contract's tensors, and the model's own dictionaries."""
        with head_masks(self.model) as masks:
            detections = self.detections(images, image_sizes)
        return (*self.tensors(detections), batched(masks, self.num_slots, rank=4)), detections


class ImageMasksFinal(InstanceSegmentationFinal):
    """-> the outputs of InstanceSegmentationFinal, and image_masks uint8 [N, K, H, W], in pixels of the tensor given.

    1 where torchvision's pasted probability is 0.5 or more, else 0; zeros in unused slots.
    """

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        tensors, detections = self.instances(images, image_sizes)
        pasted = batched(image_masks(detections, images, image_sizes), self.num_slots, rank=4)
        return (*tensors, pasted.byte())  # bytes are an output's dtype alone: TensorRT has none inside a graph
