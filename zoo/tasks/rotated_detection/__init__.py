"""Objects as rotated boxes."""

from zoo.tasks.rotated_detection.result import RotatedDetectionResult
from zoo.tasks.rotated_detection.task import RotatedDetection

__all__ = ["RotatedDetection", "RotatedDetectionResult"]
