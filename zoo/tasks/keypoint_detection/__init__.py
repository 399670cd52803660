"""Objects as boxes with keypoints."""

from zoo.tasks.keypoint_detection.result import KeypointResult
from zoo.tasks.keypoint_detection.task import KeypointDetection

__all__ = ["KeypointDetection", "KeypointResult"]
