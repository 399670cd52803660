"""Detectors: torchvision's own classes on the zoo's backbones, and YOLOv5."""

from zoo.models.detection.faster_rcnn import build_faster_rcnn
from zoo.models.detection.fcos import build_fcos
from zoo.models.detection.keypoint_rcnn import build_keypoint_rcnn
from zoo.models.detection.mask_rcnn import build_mask_rcnn
from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.models.detection.retina_net import build_retina_net
from zoo.models.detection.ssd import build_ssd
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
