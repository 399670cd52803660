"""Keypoints at level final."""

import torch
from torch import Tensor

from zoo.tasks.detection.proof.contracts import NEEDED, AnyDetectionFinal, DetectionFinal


class KeypointDetectionFinal(DetectionFinal):
    """-> the outputs of DetectionFinal, and keypoints float32 [N, K, P, 3]: x, y in pixels of the tensor, and score.

    The model's dictionaries have "keypoints" [n, P, 3], of which x and y count, and "keypoints_scores" [n, P].
    """

    def tensors(self, detections: list[dict[str, Tensor]]) -> tuple[Tensor, ...]:
        """The contract's tensors from torchvision's dictionaries."""
        keypoints = [
            torch.cat([entry["keypoints"][..., :2], entry["keypoints_scores"].unsqueeze(-1)], dim=-1)
            for entry in detections
        ]
        return (*super().tensors(detections), self.slots(keypoints, rank=4))


class AnyKeypointDetectionFinal(AnyDetectionFinal, KeypointDetectionFinal):
    """As KeypointDetectionFinal."""

    needed = (*NEEDED, "keypoints", "keypoints_scores")
