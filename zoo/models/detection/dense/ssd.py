"""torchvision's SSD class, unedited, built from a config.

Source: Liu et al., SSD: Single Shot MultiBox Detector, ECCV 2016, and Sandler et al., MobileNetV2, CVPR 2018, for
SSDLite; torchvision.models.detection.ssd.SSD and ssdlite.SSDLiteHead.
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

LITE_NORM = partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)  # torchvision's of SSDLite


def build_ssd(
    num_classes: int,
    backbone: dict[str, Any],
    size: tuple[int, int],
    aspect_ratios: Sequence[float] = (2, 3),
    scale_range: tuple[float, float] = (0.15, 0.9),
    *,
    lite: bool = False,
    **options: Any,
) -> SSD:
    """An SSD on a ResNet-18 feature pyramid.

    `num_classes` counts the background (id 0). `size`: the width and height to which torchvision resizes every image.
    `aspect_ratios` above 1 of the default boxes; `scale_range`: their smallest and largest side as a part of the
    image's, over the pyramid's levels. `lite`: the predictors are depthwise separable, as in SSDLite. `options` are the
    keyword arguments of torchvision's SSD (thresholds, candidates ...).
    """
    features = ResNetFPN(**backbone)
    levels = len(features.strides)
    boxes = DefaultBoxGenerator([list(aspect_ratios)] * levels, *scale_range)
    shape = ([features.out_channels] * levels, boxes.num_anchors_per_location(), num_classes)
    head = SSDLiteHead(*shape, LITE_NORM) if lite else SSDHead(*shape)
    return SSD(features, boxes, tuple(size), num_classes, head=head, **options)


MODELS.register_module(name="SSD", module=build_ssd)
