"""What torchvision's R-CNN classes take alike, made from a config."""

from typing import Any

from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead

from zoo.models.detection.resnet_fpn import ResNetFPN

POOL_SIZE = 7


def rcnn_arguments(
    num_classes: int,
    backbone: dict[str, Any],
    anchor_sizes: tuple[int, ...] = (32, 64, 128, 256, 512),
    aspect_ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
    box_head_channels: int = 1024,
    **options: Any,
) -> dict[str, Any]:
    """The keyword arguments of an R-CNN on a ResNet-18 feature pyramid, which is "backbone" among them.

    `num_classes` counts the background (id 0). `anchor_sizes` in pixels, one for each pyramid level. `options` are
    those of torchvision's class (thresholds, proposal counts, min_size, max_size ...), and are passed on.
    """
    features = ResNetFPN(**backbone)
    sizes = tuple((size,) for size in anchor_sizes)
    return {
        "backbone": features,
        "rpn_anchor_generator": AnchorGenerator(sizes, (tuple(aspect_ratios),) * len(sizes)),
        "box_head": TwoMLPHead(features.out_channels * POOL_SIZE**2, box_head_channels),
        "box_predictor": FastRCNNPredictor(box_head_channels, num_classes),
        **options,
    }
