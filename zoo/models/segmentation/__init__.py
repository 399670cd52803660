"""Segmentors and their families: in the manner of mmseg, and torchvision's own classes."""

from zoo.models.segmentation import backbones, context_heads, necks
from zoo.models.segmentation.aspp_head import ASPPHead
from zoo.models.segmentation.branch_heads import DDRHead, PIDHead
from zoo.models.segmentation.encoder_decoder import EncoderDecoder
from zoo.models.segmentation.encoder_decoder_family import EncoderDecoderFamily
from zoo.models.segmentation.fcn_head import FCNHead
from zoo.models.segmentation.fpn_head import FPNHead
from zoo.models.segmentation.lraspp_head import LRASPPHead
from zoo.models.segmentation.psp_head import PSPHead
from zoo.models.segmentation.segformer_head import SegformerHead
from zoo.models.segmentation.segmenter_head import SegmenterMaskTransformerHead
from zoo.models.segmentation.sep_aspp_head import DepthwiseSeparableASPPHead
from zoo.models.segmentation.sep_fcn_head import DepthwiseSeparableFCNHead
from zoo.models.segmentation.setr_heads import SETRMLAHead, SETRUPHead
from zoo.models.segmentation.torchvision_architecture import build_torchvision_segmentor
from zoo.models.segmentation.torchvision_family import TorchvisionSegmentors
from zoo.models.segmentation.uper_head import UPerHead

__all__ = [
    "ASPPHead",
    "DDRHead",
    "DepthwiseSeparableASPPHead",
    "DepthwiseSeparableFCNHead",
    "EncoderDecoder",
    "EncoderDecoderFamily",
    "FCNHead",
    "FPNHead",
    "LRASPPHead",
    "PIDHead",
    "PSPHead",
    "SETRMLAHead",
    "SETRUPHead",
    "SegformerHead",
    "SegmenterMaskTransformerHead",
    "TorchvisionSegmentors",
    "UPerHead",
    "backbones",
    "build_torchvision_segmentor",
    "context_heads",
    "necks",
]
