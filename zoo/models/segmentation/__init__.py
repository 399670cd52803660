"""Segmentors: in the manner of mmseg, and torchvision's own classes."""

from zoo.models.segmentation.encoder_decoder import EncoderDecoder
from zoo.models.segmentation.fcn_head import FCNHead
from zoo.models.segmentation.torchvision_architecture import build_torchvision_segmentor

__all__ = ["EncoderDecoder", "FCNHead", "build_torchvision_segmentor"]
