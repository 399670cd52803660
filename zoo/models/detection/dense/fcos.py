"""torchvision's FCOS class, unedited, built from a config.

Source: Tian et al., FCOS: Fully Convolutional One-Stage Object Detection, ICCV 2019; torchvision.models.detection.FCOS.
"""

from typing import Any

from torchvision.models.detection import FCOS
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.fcos import FCOSHead

from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.registry import MODELS


def build_fcos(
    num_classes: int,
    backbone: dict[str, Any],
    head_convs: int = 4,
    **options: Any,
) -> FCOS:
    """An FCOS on a ResNet-18 feature pyramid.

    `num_classes` counts every id of the task. The unit of the regression at each pyramid level is its stride. The
    backbone's `out_channels` must be a multiple of 32, the groups of the head's norm. `options` are the keyword
    arguments of torchvision's FCOS (thresholds, candidates, min_size, max_size ...).
    """
    features = ResNetFPN(**backbone)
    return FCOS(
        features,
        num_classes,
        anchor_generator=AnchorGenerator(
            tuple((stride,) for stride in features.strides), ((1.0,),) * len(features.strides)
        ),
        head=FCOSHead(features.out_channels, 1, num_classes, head_convs),
        **options,
    )


MODELS.register_module(name="FCOS", module=build_fcos)
