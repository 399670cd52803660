"""Detectors and their families: torchvision's own classes on the zoo's backbones, and those written here."""

from zoo.models.detection.dense import build_fcos, build_retina_net, build_ssd
from zoo.models.detection.rcnn import build_faster_rcnn, build_keypoint_rcnn, build_mask_rcnn
from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.models.detection.torchvision_architecture import build_torchvision_detector
from zoo.models.detection.yolov5 import YOLOv5

__all__ = [
    "ResNetFPN",
    "YOLOv5",
    "build_faster_rcnn",
    "build_fcos",
    "build_keypoint_rcnn",
    "build_mask_rcnn",
    "build_retina_net",
    "build_ssd",
    "build_torchvision_detector",
]
