"""Rewriters of the two-stage detectors' second stage."""

from rewriters.mmdetection.roi import cascade, extractor, masks, standard

__all__ = ["cascade", "extractor", "masks", "standard"]
