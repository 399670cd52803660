"""Metrics that judge a model on a data set, in points 0..100. Importing this package registers them."""

from zoo.metrics.coco_box_ap import CocoBoxAP
from zoo.metrics.mean_iou import MeanIoU

__all__ = ["CocoBoxAP", "MeanIoU"]
