"""Rewriters of what models of queries do before their heads."""

from rewriters.mmdetection.transformers import deformable_attention, deformable_detr, detr, pixel_decoders

__all__ = ["deformable_attention", "deformable_detr", "detr", "pixel_decoders"]
