"""Objects as boxes with masks."""

from zoo.tasks.instance_segmentation.result import InstanceSegmentationResult, MasksResult
from zoo.tasks.instance_segmentation.task import InstanceSegmentation

__all__ = ["InstanceSegmentation", "InstanceSegmentationResult", "MasksResult"]
