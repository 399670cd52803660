"""Metrics that judge a model on a data set: points 0..100, or dB. Importing this package registers them."""

from zoo.metrics.accuracy import Accuracy
from zoo.metrics.building import build_metric
from zoo.metrics.centre_distance import CentreDistanceMAP
from zoo.metrics.coco_box_ap import CocoBoxAP
from zoo.metrics.coco_keypoint_ap import CocoKeypointAP
from zoo.metrics.coco_mask_ap import CocoMaskAP
from zoo.metrics.dota_map import DotaMAP
from zoo.metrics.image_quality import ImageQuality
from zoo.metrics.kitti_ap import KittiAP
from zoo.metrics.mean_iou import MeanIoU
from zoo.metrics.metric import Metric
from zoo.metrics.voc_map import VOCmAP

__all__ = [
    "Accuracy",
    "CentreDistanceMAP",
    "CocoBoxAP",
    "CocoKeypointAP",
    "CocoMaskAP",
    "DotaMAP",
    "ImageQuality",
    "KittiAP",
    "MeanIoU",
    "Metric",
    "VOCmAP",
    "build_metric",
]
