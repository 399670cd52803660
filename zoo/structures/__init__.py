"""What a model found in one image: immutable results with numpy arrays, in the coordinates of that image."""

from zoo.structures.detection_result import DetectionResult
from zoo.structures.segmentation_result import SegmentationResult

Result = DetectionResult | SegmentationResult

__all__ = ["DetectionResult", "Result", "SegmentationResult"]
