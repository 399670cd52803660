"""torchvision's SSD class, unedited, built from a config.

Source: Liu et al., SSD: Single Shot MultiBox Detector, ECCV 2016; torchvision.models.detection.ssd.SSD.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import nn
from torchvision.models.detection.anchor_utils import DefaultBoxGenerator
from torchvision.models.detection.ssd import SSD, SSDHead
from torchvision.models.detection.ssdlite import SSDLiteHead

from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.registry import MODELS


def build_ssd(
    num_classes: int,
    backbone: dict[str, Any],
    size: tuple[int, int],
    aspect_ratios: Sequence[float] = (2, 3),
    scale_range: tuple[float, float] = (0.15, 0.9),
    **options: Any,
) -> SSD:
    """An SSD on a ResNet-18 feature pyramid.

    `num_classes` counts the background (id 0). `size`: the width and height to which torchvision resizes every image.
    `aspect_ratios` above 1 of the default boxes; `scale_range`: their smallest and largest side as a part of the
    image's, over the pyramid's levels. `options` are the keyword arguments of torchvision's SSD (thresholds,
    candidates ...).
    """
    features, boxes, channels = _pyramid(backbone, aspect_ratios, scale_range)
    head = SSDHead(channels, boxes.num_anchors_per_location(), num_classes)
    return SSD(features, boxes, tuple(size), num_classes, head=head, **options)


def build_ssd_lite(
    num_classes: int,
    backbone: dict[str, Any],
    size: tuple[int, int],
    aspect_ratios: Sequence[float] = (2, 3),
    scale_range: tuple[float, float] = (0.15, 0.9),
    **options: Any,
) -> SSD:
    """An SSD whose predictors are depthwise separable convolutions; the arguments are those of `build_ssd`.

    Source: Sandler et al., MobileNetV2, CVPR 2018; torchvision.models.detection.ssdlite.SSDLiteHead.
    """
    features, boxes, channels = _pyramid(backbone, aspect_ratios, scale_range)
    norm = partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)  # torchvision's of SSDLite
    head = SSDLiteHead(channels, boxes.num_anchors_per_location(), num_classes, norm)
    return SSD(features, boxes, tuple(size), num_classes, head=head, **options)


def _pyramid(
    backbone: dict[str, Any], aspect_ratios: Sequence[float], scale_range: tuple[float, float]
) -> tuple[ResNetFPN, DefaultBoxGenerator, list[int]]:
    """The pyramid, its default boxes, and the channels of its levels."""
    features = ResNetFPN(**backbone)
    levels = len(features.strides)
    boxes = DefaultBoxGenerator([list(aspect_ratios)] * levels, *scale_range)
    return features, boxes, [features.out_channels] * levels


MODELS.register_module(name="SSD", module=build_ssd)
MODELS.register_module(name="SSDLite", module=build_ssd_lite)
