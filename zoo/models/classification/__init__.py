"""Classifiers of images, and their family."""

from zoo.models.classification.family import ImageClassifierFamily
from zoo.models.classification.image_classifier import ImageClassifier
from zoo.models.classification.torchvision_architecture import build_torchvision_classifier

__all__ = ["ImageClassifier", "ImageClassifierFamily", "build_torchvision_classifier"]
