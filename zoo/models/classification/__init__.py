"""Classifiers of images, and their family."""

from zoo.models.classification.family import ImageClassifierFamily
from zoo.models.classification.image_classifier import ImageClassifier

__all__ = ["ImageClassifier", "ImageClassifierFamily"]
