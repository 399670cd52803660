"""Rewriters of the zoo's YOLOv5."""

from rewriters.yolov5 import postprocess_detections

__all__ = ["postprocess_detections"]
