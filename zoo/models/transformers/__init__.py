"""Models of transformers, from a folder that save_pretrained wrote. The library is imported when one is built."""

from zoo.models.transformers.architecture import build_architecture, image_processor_name, read_architecture, takes
from zoo.models.transformers.family import TransformersFamily
from zoo.models.transformers.transformers_model import TransformersModel

__all__ = [
    "TransformersFamily",
    "TransformersModel",
    "build_architecture",
    "image_processor_name",
    "read_architecture",
    "takes",
]
