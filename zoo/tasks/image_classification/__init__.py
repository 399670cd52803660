"""One class for a whole image."""

from zoo.tasks.image_classification.result import ClassificationResult
from zoo.tasks.image_classification.task import ImageClassification

__all__ = ["ClassificationResult", "ImageClassification"]
