"""Keypoints of torchvision's Keypoint R-CNN, at level final."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from zoo.contract.detection import DetectionFinal
from zoo.contract.padding import batched
from zoo.errors import InputError


class KeypointDetectionFinal(DetectionFinal):
    """-> the outputs of DetectionFinal, and keypoints float32 [N, K, P, 3]: x, y in pixels of the tensor, and score.

    The score is the heatmap's value there, a logit. Raises InputError for a model without keypoints.
    """

    def __init__(self, model: GeneralizedRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        if not model.roi_heads.has_keypoint():
            raise InputError(f"model {type(model).__name__} gives no keypoints, which keypoint-detection needs")

    def tensors(self, detections: list[dict[str, Tensor]]) -> tuple[Tensor, ...]:
        """The contract's tensors from torchvision's dictionaries."""
        keypoints = [
            torch.cat([entry["keypoints"][..., :2], entry["keypoints_scores"].unsqueeze(-1)], dim=-1)
            for entry in detections
        ]
        return (*super().tensors(detections), batched(keypoints, self.num_slots, rank=4))
