"""What a model does: its classes, its output contract, typed results, and how they are drawn (torch-free)."""

from zoo.tasks.building import TASKS, build_task
from zoo.tasks.class_info import ClassInfo
from zoo.tasks.detection import Detection
from zoo.tasks.instance_segmentation import InstanceSegmentation
from zoo.tasks.keypoint_detection import KeypointDetection
from zoo.tasks.semantic_segmentation import SemanticSegmentation
from zoo.tasks.super_resolution import SuperResolution
from zoo.tasks.task import Task

__all__ = [
    "TASKS",
    "ClassInfo",
    "Detection",
    "InstanceSegmentation",
    "KeypointDetection",
    "SemanticSegmentation",
    "SuperResolution",
    "Task",
    "build_task",
]
