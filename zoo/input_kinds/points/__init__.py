"""Point clouds of a LiDAR, of any number of points. What the reference makes of them needs torch, see proof.py."""

from zoo.input_kinds.points.kind import NUM_POINTS, POINTS, PointsKind
from zoo.input_kinds.points.rule import PointsRule

__all__ = ["NUM_POINTS", "POINTS", "PointsKind", "PointsRule"]
