"""How a deployment of a detector is proved. The proofs of tasks whose results are detections with more build on it."""

from zoo.tasks.detection.proof.detection_proof import DetectionProof

__all__ = ["DetectionProof"]
