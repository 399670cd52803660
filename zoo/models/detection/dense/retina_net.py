"""torchvision's RetinaNet class, unedited, built from a config.

Source: Lin et al., Focal Loss for Dense Object Detection, ICCV 2017; torchvision.models.detection.RetinaNet.
"""

from functools import partial
from typing import Any

from torch import nn
from torchvision.models.detection import RetinaNet
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.retinanet import RetinaNetHead

from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.registry import MODELS


def build_retina_net(
    num_classes: int,
    backbone: dict[str, Any],
    anchor_sizes: tuple[int, ...] = (32, 64, 128, 256, 512),
    sizes_per_octave: int = 3,
    aspect_ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
    head_norm_groups: int | None = None,
    **options: Any,
) -> RetinaNet:
    """A RetinaNet on a ResNet-18 feature pyramid.

    `num_classes` counts every id of the task. `anchor_sizes` in pixels, one for each pyramid level, each followed by
    those between it and its double: `sizes_per_octave` in all. `head_norm_groups`: groups of the group norm in the
    head's convolutions, as in torchvision's version 2; None for version 1, which has no norm. `options` are the
    keyword arguments of torchvision's RetinaNet (thresholds, candidates, min_size, max_size ...).
    """
    features = ResNetFPN(**backbone)
    anchors = AnchorGenerator(
        tuple(tuple(int(size * 2 ** (i / sizes_per_octave)) for i in range(sizes_per_octave)) for size in anchor_sizes),
        (tuple(aspect_ratios),) * len(anchor_sizes),
    )
    head = RetinaNetHead(
        features.out_channels,
        anchors.num_anchors_per_location()[0],
        num_classes,
        norm_layer=None if head_norm_groups is None else partial(nn.GroupNorm, head_norm_groups),
    )
    return RetinaNet(features, num_classes, anchor_generator=anchors, head=head, **options)


MODELS.register_module(name="RetinaNet", module=build_retina_net)
