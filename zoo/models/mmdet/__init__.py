"""Detectors of mmdetection (extra mmdet), built by the library itself, and their family.

The library is imported when a config asks for one of its models. Where mmcv has no compiled operators, zooport's
stand-in takes their place (zoo.codebases.mmcv_ext).
"""

from zoo.models.mmdet.family import MmdetFamily
from zoo.models.mmdet.mmdet_detector import MmdetDetector
from zoo.models.mmdet.mmdet_instance_segmentor import MmdetInstanceSegmentor

__all__ = ["MmdetDetector", "MmdetFamily", "MmdetInstanceSegmentor"]
