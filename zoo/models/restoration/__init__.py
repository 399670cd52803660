"""Models that restore an image, super-resolution, and their families."""

from zoo.models.restoration.any_scale_srcnn import AnyScaleSRCNN
from zoo.models.restoration.family import AnyScaleSRCNNFamily, SRCNNFamily
from zoo.models.restoration.srcnn import SRCNN

__all__ = ["SRCNN", "AnyScaleSRCNN", "AnyScaleSRCNNFamily", "SRCNNFamily"]
