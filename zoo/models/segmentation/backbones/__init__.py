"""Backbones of segmentors, beside the ResNets that detectors share; parameter names as in mmseg and mmpretrain."""

from zoo.models.segmentation.backbones.bisenet_v2 import BiSeNetV2
from zoo.models.segmentation.backbones.convnext import ConvNeXt
from zoo.models.segmentation.backbones.mix_transformer import MixVisionTransformer
from zoo.models.segmentation.backbones.mobilenet_v3 import MobileNetV3

__all__ = ["BiSeNetV2", "ConvNeXt", "MixVisionTransformer", "MobileNetV3"]
