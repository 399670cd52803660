"""Instances at level final."""

from collections.abc import Mapping

from torch import Tensor

from zoo.errors import InputError
from zoo.tasks.detection.proof.contracts import NEEDED, AnyDetectionFinal, DetectionFinal
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


class AnyInstanceSegmentationFinal(AnyDetectionFinal, InstanceSegmentationFinal):
    """As InstanceSegmentationFinal, with masks as large as the model gives them."""

    needed = (*NEEDED, "masks")

    def _check(self, entry: Mapping[str, Tensor], images: Tensor) -> None:
        super()._check(entry, images)
        if entry["masks"].shape[-2:] == images.shape[-2:]:
            raise InputError(
                f"model {type(self.model).__name__}: its masks are as large as the image; give those of the head, "
                "[n, 1, m, m] in cells of the box, which are pasted later"
            )
