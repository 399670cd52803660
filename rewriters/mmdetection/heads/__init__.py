"""Rewriters of the dense heads."""

from rewriters.mmdetection.heads import centernet, dense, detr, gfl, paa, points, rpn, solo, yolov3, yolox

__all__ = ["centernet", "dense", "detr", "gfl", "paa", "points", "rpn", "solo", "yolov3", "yolox"]
