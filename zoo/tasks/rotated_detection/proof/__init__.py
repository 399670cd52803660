"""How a deployment of a detector of rotated boxes is proved."""

from zoo.tasks.rotated_detection.proof.rotated_detection_proof import RotatedDetectionProof

__all__ = ["RotatedDetectionProof"]
