"""How a deployment of a model with masks is proved."""

from zoo.tasks.instance_segmentation.proof.instance_segmentation_proof import InstanceSegmentationProof

__all__ = ["InstanceSegmentationProof"]
