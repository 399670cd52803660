"""Rewriters of the zoo's YOLOv5: of its functions, and of its graph for TensorRT's plugin."""

from rewriters.yolov5 import postprocess_detections, yolo_decode_plugin

__all__ = ["postprocess_detections", "yolo_decode_plugin"]
