"""How a deployment of a model whose queries have masks is proved."""

from zoo.tasks.instance_masks.proof.instance_masks_proof import InstanceMasksProof

__all__ = ["InstanceMasksProof"]
