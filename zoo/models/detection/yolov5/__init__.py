"""YOLOv5 (v6 and later), written from its published architecture, with the original's parameter names."""

from zoo.models.detection.yolov5.family import YOLOv5Family
from zoo.models.detection.yolov5.yolov5 import YOLOv5

__all__ = ["YOLOv5", "YOLOv5Family"]
