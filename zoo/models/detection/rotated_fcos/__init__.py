"""FCOS for rotated boxes."""

from zoo.models.detection.rotated_fcos.family import RotatedFCOSFamily
from zoo.models.detection.rotated_fcos.rotated_fcos import RotatedFCOS

__all__ = ["RotatedFCOS", "RotatedFCOSFamily"]
