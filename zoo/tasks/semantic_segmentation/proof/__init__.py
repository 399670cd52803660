"""How a deployment of a segmentor is proved."""

from zoo.tasks.semantic_segmentation.proof.segmentation_proof import SegmentationProof

__all__ = ["SegmentationProof"]
