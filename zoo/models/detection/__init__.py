"""Detectors: torchvision's own classes on the zoo's backbones."""

from zoo.models.detection.faster_rcnn import build_faster_rcnn
from zoo.models.detection.resnet_fpn import ResNetFPN

__all__ = ["ResNetFPN", "build_faster_rcnn"]
