"""How a deployment of a classifier is proved."""

from zoo.tasks.image_classification.proof.classification_proof import ClassificationProof

__all__ = ["ClassificationProof"]
