"""Detectors, each family in a folder: torchvision's own classes on the zoo's backbones, and those written here."""

from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.models.detection.torchvision_architecture import build_torchvision_detector

__all__ = ["ResNetFPN", "build_torchvision_detector"]
