"""Segmentors in the manner of mmseg."""

from rewriters.segmentation import slide_inference

__all__ = ["slide_inference"]
