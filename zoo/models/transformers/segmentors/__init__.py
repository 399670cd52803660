"""Segmentors of transformers: models that class pixels, and models whose queries have masks, also as instances."""

from zoo.models.transformers.segmentors.family import TransformersInstanceSegmentors, TransformersSegmentors
from zoo.models.transformers.segmentors.transformers_instance_segmentor import TransformersInstanceSegmentor
from zoo.models.transformers.segmentors.transformers_segmentor import TransformersSegmentor

__all__ = [
    "TransformersInstanceSegmentor",
    "TransformersInstanceSegmentors",
    "TransformersSegmentor",
    "TransformersSegmentors",
]
