"""KITTI's files: calibrations, label files, and the frame of its camera. numpy alone.

KITTI is the only place where boxes are in a camera's frame: x right, y down, z forward, the place of a box its bottom.
Everywhere else a box is in the frame of the points, see zoo.geometry.boxes3d.
"""

from zoo.kitti.boxes import image_boxes, objects_of_boxes, points_frame_boxes
from zoo.kitti.calibration import IMAGE_SIZE, NOMINAL, Calibration
from zoo.kitti.difficulty import difficulties
from zoo.kitti.labels import KittiObject, label_text, read_label

__all__ = [
    "IMAGE_SIZE",
    "NOMINAL",
    "Calibration",
    "KittiObject",
    "difficulties",
    "image_boxes",
    "label_text",
    "objects_of_boxes",
    "points_frame_boxes",
    "read_label",
]
