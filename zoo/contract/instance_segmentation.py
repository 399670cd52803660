"""Instances at level final."""

from torch import Tensor

from zoo.contract.detection import DetectionFinal
from zoo.tasks.instance_segmentation.proof.head_masks import head_masks


class InstanceSegmentationFinal(DetectionFinal):
    """-> the outputs of DetectionFinal, and masks float32 [N, K, 28, 28]: probabilities in cells of the box."""

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        return self.instances(images, image_sizes)[0]

    def instances(
        self, images: Tensor, image_sizes: Tensor | None
    ) -> tuple[tuple[Tensor, ...], list[dict[str, Tensor]]]:
        """The contract's tensors, and the model's own dictionaries."""
        with head_masks(self.model) as masks:
            detections = self.detections(images, image_sizes)
        return (*self.tensors(detections), self.slots(masks, rank=4)), detections
