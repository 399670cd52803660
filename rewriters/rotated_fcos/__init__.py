"""Rewriters of the zoo's RotatedFCOS."""

from rewriters.rotated_fcos import postprocess_detections

__all__ = ["postprocess_detections"]
