"""Overlaps of rotated boxes in float64: what metrics and comparisons use. numpy alone."""

from zoo.geometry.boxes3d import BOXES_3D, bev_boxes, bev_iou, iou_3d, wrapped_angle
from zoo.geometry.rotated import rotated_corners, rotated_intersection, rotated_iou

__all__ = [
    "BOXES_3D",
    "bev_boxes",
    "bev_iou",
    "iou_3d",
    "rotated_corners",
    "rotated_intersection",
    "rotated_iou",
    "wrapped_angle",
]
