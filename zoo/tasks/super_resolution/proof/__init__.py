"""How a deployment of a super-resolution model is proved."""

from zoo.tasks.super_resolution.proof.super_resolution_proof import SuperResolutionProof

__all__ = ["SuperResolutionProof"]
