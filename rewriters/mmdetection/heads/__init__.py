"""Rewriters of the dense heads."""

from rewriters.mmdetection.heads import dense, detr, gfl, paa, points, rpn, yolov3, yolox

__all__ = ["dense", "detr", "gfl", "paa", "points", "rpn", "yolov3", "yolox"]
