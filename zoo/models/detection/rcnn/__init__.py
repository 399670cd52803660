"""torchvision's R-CNNs: Faster, Mask and Keypoint R-CNN, and their family."""

from zoo.models.detection.rcnn.family import RCNNFamily
from zoo.models.detection.rcnn.faster_rcnn import build_faster_rcnn
from zoo.models.detection.rcnn.keypoint_rcnn import build_keypoint_rcnn
from zoo.models.detection.rcnn.mask_rcnn import build_mask_rcnn

__all__ = ["RCNNFamily", "build_faster_rcnn", "build_keypoint_rcnn", "build_mask_rcnn"]
