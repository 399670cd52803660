"""What a model found in one image: immutable results with numpy arrays, in the coordinates of that image."""

from zoo.structures.detection_result import DetectionResult
from zoo.structures.instance_segmentation_result import InstanceSegmentationResult
from zoo.structures.keypoint_result import KeypointResult
from zoo.structures.segmentation_result import SegmentationResult
from zoo.structures.super_resolution_result import SuperResolutionResult

Result = DetectionResult | InstanceSegmentationResult | KeypointResult | SegmentationResult | SuperResolutionResult

__all__ = [
    "DetectionResult",
    "InstanceSegmentationResult",
    "KeypointResult",
    "Result",
    "SegmentationResult",
    "SuperResolutionResult",
]
