"""How a deployment of a model with keypoints is proved."""

from zoo.tasks.keypoint_detection.proof.keypoint_proof import KeypointProof

__all__ = ["KeypointProof"]
