"""How a deployment of any module is proved."""

from zoo.tasks.tensors.proof.tensors_proof import TensorsProof

__all__ = ["TensorsProof"]
