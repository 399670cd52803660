"""torchvision's R-CNNs at level final, of each of their tasks."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from zoo.contract.image_masks import image_masks
from zoo.errors import InputError
from zoo.tasks.detection.proof.contracts import DetectionFinal
from zoo.tasks.instance_segmentation.proof.contracts import InstanceSegmentationFinal
from zoo.tasks.keypoint_detection.proof.contracts import KeypointDetectionFinal


class RCNNFinal(DetectionFinal):
    """As DetectionFinal. An R-CNN decides in its RoI heads."""

    def most(self, model: GeneralizedRCNN) -> int:
        most: int = model.roi_heads.detections_per_img
        return most


class RCNNInstances(RCNNFinal, InstanceSegmentationFinal):
    """As InstanceSegmentationFinal. Raises InputError for a model without masks."""

    def __init__(self, model: GeneralizedRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        if not model.roi_heads.has_mask():
            raise InputError(f"model {type(model).__name__} gives no masks, which instance-segmentation needs")


class RCNNImageMasks(RCNNInstances):
    """-> the outputs of RCNNInstances, and image_masks uint8 [N, K, H, W], in pixels of the tensor given.

    1 where torchvision's pasted probability is 0.5 or more, else 0; zeros in unused slots.
    """

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        tensors, detections = self.instances(images, image_sizes)
        pasted = self.slots(image_masks(detections, images, image_sizes), rank=4)
        return (*tensors, pasted.byte())  # bytes are an output's dtype alone: TensorRT has none inside a graph


class RCNNKeypoints(RCNNFinal, KeypointDetectionFinal):
    """As KeypointDetectionFinal; the score of a keypoint is the heatmap's value there, a logit.

    Raises InputError for a model without keypoints.
    """

    def __init__(self, model: GeneralizedRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        if not model.roi_heads.has_keypoint():
            raise InputError(f"model {type(model).__name__} gives no keypoints, which keypoint-detection needs")
