"""Detectors of transformers that find objects by queries: DETR, RT-DETR, D-FINE and their relatives."""

from zoo.models.transformers.query_detectors.family import QueryDetectorFamily
from zoo.models.transformers.query_detectors.transformers_detector import TransformersDetector

__all__ = ["QueryDetectorFamily", "TransformersDetector"]
