"""Classifiers of timm (extra timm), and their family: the library is imported when a config asks for one of them."""

from zoo.models.timm.classifier import build_timm_classifier
from zoo.models.timm.family import TimmFamily

__all__ = ["TimmFamily", "build_timm_classifier"]
