"""Backbones of segmentors, beside the ResNets that detectors share; parameter names as in mmseg and mmpretrain."""

from zoo.models.segmentation.backbones.bisenet_v1 import BiSeNetV1
from zoo.models.segmentation.backbones.bisenet_v2 import BiSeNetV2
from zoo.models.segmentation.backbones.cgnet import CGNet
from zoo.models.segmentation.backbones.convnext import ConvNeXt
from zoo.models.segmentation.backbones.ddrnet import DDRNet
from zoo.models.segmentation.backbones.erfnet import ERFNet
from zoo.models.segmentation.backbones.fast_scnn import FastSCNN
from zoo.models.segmentation.backbones.hrnet import HRNet
from zoo.models.segmentation.backbones.icnet import ICNet
from zoo.models.segmentation.backbones.mix_transformer import MixVisionTransformer
from zoo.models.segmentation.backbones.mobilenet_v2 import MobileNetV2
from zoo.models.segmentation.backbones.mobilenet_v3 import MobileNetV3
from zoo.models.segmentation.backbones.pidnet import PIDNet
from zoo.models.segmentation.backbones.resnest import ResNeSt
from zoo.models.segmentation.backbones.stdc import STDCContextPathNet, STDCNet
from zoo.models.segmentation.backbones.swin_transformer import SwinTransformer
from zoo.models.segmentation.backbones.twins import PCPVT, SVT
from zoo.models.segmentation.backbones.unet import UNet
from zoo.models.segmentation.backbones.vision_transformer import VisionTransformer

__all__ = [
    "PCPVT",
    "SVT",
    "BiSeNetV1",
    "BiSeNetV2",
    "CGNet",
    "ConvNeXt",
    "DDRNet",
    "ERFNet",
    "FastSCNN",
    "HRNet",
    "ICNet",
    "MixVisionTransformer",
    "MobileNetV2",
    "MobileNetV3",
    "PIDNet",
    "ResNeSt",
    "STDCContextPathNet",
    "STDCNet",
    "SwinTransformer",
    "UNet",
    "VisionTransformer",
]
