"""Models that restore an image: super-resolution."""

from zoo.models.restoration.any_scale_srcnn import AnyScaleSRCNN
from zoo.models.restoration.srcnn import SRCNN

__all__ = ["SRCNN", "AnyScaleSRCNN"]
