"""Objects as boxes in space, of point clouds."""

from zoo.tasks.detection3d.result import Detection3DResult
from zoo.tasks.detection3d.task import Detection3D

__all__ = ["Detection3D", "Detection3DResult"]
