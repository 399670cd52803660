"""Models of transformers that classify images."""

from zoo.models.transformers.classifiers.family import TransformersClassifierFamily
from zoo.models.transformers.classifiers.transformers_classifier import TransformersClassifier

__all__ = ["TransformersClassifier", "TransformersClassifierFamily"]
