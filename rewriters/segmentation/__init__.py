"""Segmentors in the manner of mmseg."""

from rewriters.segmentation import size_branches, slide_inference

__all__ = ["size_branches", "slide_inference"]
