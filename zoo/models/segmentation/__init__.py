"""Segmentors and their families: in the manner of mmseg, and torchvision's own classes."""

from zoo.models.segmentation import backbones
from zoo.models.segmentation.aspp_head import ASPPHead
from zoo.models.segmentation.encoder_decoder import EncoderDecoder
from zoo.models.segmentation.encoder_decoder_family import EncoderDecoderFamily
from zoo.models.segmentation.fcn_head import FCNHead
from zoo.models.segmentation.lraspp_head import LRASPPHead
from zoo.models.segmentation.psp_head import PSPHead
from zoo.models.segmentation.segformer_head import SegformerHead
from zoo.models.segmentation.sep_aspp_head import DepthwiseSeparableASPPHead
from zoo.models.segmentation.torchvision_architecture import build_torchvision_segmentor
from zoo.models.segmentation.torchvision_family import TorchvisionSegmentors
from zoo.models.segmentation.uper_head import UPerHead

__all__ = [
    "ASPPHead",
    "DepthwiseSeparableASPPHead",
    "EncoderDecoder",
    "EncoderDecoderFamily",
    "FCNHead",
    "LRASPPHead",
    "PSPHead",
    "SegformerHead",
    "TorchvisionSegmentors",
    "UPerHead",
    "backbones",
    "build_torchvision_segmentor",
]
