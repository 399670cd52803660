"""How a deployment of a detector of boxes in space is proved."""

from zoo.tasks.detection3d.proof.detection3d_proof import Detection3DProof

__all__ = ["Detection3DProof"]
