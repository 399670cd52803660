"""Models of transformers that estimate depth: their output is a tensor by name."""

from zoo.models.transformers.depth.family import TransformersDepthFamily
from zoo.models.transformers.depth.transformers_depth import TransformersDepth

__all__ = ["TransformersDepth", "TransformersDepthFamily"]
