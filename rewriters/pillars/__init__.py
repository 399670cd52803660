"""Rewriters of the zoo's detectors on pillars: points of any number onto a dense canvas, detections of a fixed one."""

from rewriters.pillars import anchor_head, center_head, encoder, padded_clouds, postprocess_detections

__all__ = ["anchor_head", "center_head", "encoder", "padded_clouds", "postprocess_detections"]
