"""Segmentors in the manner of mmseg."""

from zoo.models.segmentation.encoder_decoder import EncoderDecoder
from zoo.models.segmentation.fcn_head import FCNHead

__all__ = ["EncoderDecoder", "FCNHead"]
