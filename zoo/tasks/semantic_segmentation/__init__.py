"""A class for every pixel."""

from zoo.tasks.semantic_segmentation.result import SegmentationResult
from zoo.tasks.semantic_segmentation.task import SemanticSegmentation

__all__ = ["SegmentationResult", "SemanticSegmentation"]
