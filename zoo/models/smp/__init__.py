"""Segmentors of segmentation_models_pytorch (extra smp): the library is imported when a config asks for one of them."""

from zoo.models.smp.segmentor import build_smp_segmentor

__all__ = ["build_smp_segmentor"]
