"""Objects as boxes."""

from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.detection.task import Detection

__all__ = ["Detection", "DetectionResult"]
