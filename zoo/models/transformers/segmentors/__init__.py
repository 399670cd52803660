"""Segmentors of transformers as label maps: models that class pixels, and models whose queries have masks."""

from zoo.models.transformers.segmentors.family import TransformersSegmentors
from zoo.models.transformers.segmentors.transformers_segmentor import TransformersSegmentor

__all__ = ["TransformersSegmentor", "TransformersSegmentors"]
