"""Decode heads that relate each place of a map to the others; parameter names as in mmseg."""

from zoo.models.segmentation.context_heads.ann_head import ANNHead
from zoo.models.segmentation.context_heads.apc_head import APCHead
from zoo.models.segmentation.context_heads.cc_head import CCHead
from zoo.models.segmentation.context_heads.da_head import DAHead
from zoo.models.segmentation.context_heads.dm_head import DMHead
from zoo.models.segmentation.context_heads.dnl_head import DNLHead
from zoo.models.segmentation.context_heads.ema_head import EMAHead
from zoo.models.segmentation.context_heads.enc_head import EncHead
from zoo.models.segmentation.context_heads.gc_head import GCHead
from zoo.models.segmentation.context_heads.isa_head import ISAHead
from zoo.models.segmentation.context_heads.nl_head import NLHead
from zoo.models.segmentation.context_heads.ocr_head import OCRHead
from zoo.models.segmentation.context_heads.psa_head import PSAHead

__all__ = [
    "ANNHead",
    "APCHead",
    "CCHead",
    "DAHead",
    "DMHead",
    "DNLHead",
    "EMAHead",
    "EncHead",
    "GCHead",
    "ISAHead",
    "NLHead",
    "OCRHead",
    "PSAHead",
]
