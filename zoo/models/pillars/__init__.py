"""Detectors of objects in point clouds on pillars: PointPillars and CenterPoint, written from their papers.

Both take point clouds as a list of float32 [n, 4] (x forward, y left, z up in metres, and the intensity), and give
boxes float32 [n, 7]: x y z of the centre, length along the heading, width, height, yaw about z in [-pi, pi).
"""

from zoo.models.pillars.center_point import CenterPoint
from zoo.models.pillars.family import CenterPointFamily, PointPillarsFamily
from zoo.models.pillars.point_pillars import PointPillars

__all__ = ["CenterPoint", "CenterPointFamily", "PointPillars", "PointPillarsFamily"]
