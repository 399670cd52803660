"""Segmentors of mmsegmentation (extra mmseg), built by the library itself, and their family.

The library is imported when a config asks for one of its models. Where mmcv has no compiled operators, zooport's
stand-in takes their place (zoo.codebases.mmcv_ext).
"""

from zoo.models.mmseg.family import MmsegFamily
from zoo.models.mmseg.mmseg_segmentor import MmsegSegmentor

__all__ = ["MmsegFamily", "MmsegSegmentor"]
