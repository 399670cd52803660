"""Segmentors of mmsegmentation that the library itself builds."""

from zoo.codebases.mmcv_ext import stand_in

stand_in.provide()  # before mmseg is imported, which needs mmcv's operators

from rewriters.mmsegmentation import description, knet, slide_inference, swin  # noqa: E402 - see above

__all__ = ["description", "knet", "slide_inference", "swin"]
