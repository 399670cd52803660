"""Segmentors of mmsegmentation that the library itself builds."""

from rewriters.mmsegmentation import slide_inference

__all__ = ["slide_inference"]
