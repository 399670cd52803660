"""torchvision's FasterRCNN class, unedited, built from a config.

Source: Ren et al., Faster R-CNN, NeurIPS 2015; torchvision.models.detection.FasterRCNN.
"""

from typing import Any

from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead

from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.registry import MODELS

POOL_SIZE = 7


def build_faster_rcnn(
    num_classes: int,
    backbone: dict[str, Any],
    anchor_sizes: tuple[int, ...] = (32, 64, 128, 256, 512),
    aspect_ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
    box_head_channels: int = 1024,
    **options: Any,
) -> FasterRCNN:
    """A FasterRCNN on a ResNet-18 feature pyramid.

    `num_classes` counts the background (id 0). `anchor_sizes` in pixels, one for each pyramid level. `options` are
    the keyword arguments of torchvision's FasterRCNN (thresholds, proposal counts, min_size, max_size ...).
    """
    features = ResNetFPN(**backbone)
    return FasterRCNN(
        features,
        rpn_anchor_generator=AnchorGenerator(
            tuple((size,) for size in anchor_sizes), (aspect_ratios,) * len(anchor_sizes)
        ),
        box_head=TwoMLPHead(features.out_channels * POOL_SIZE**2, box_head_channels),
        box_predictor=FastRCNNPredictor(box_head_channels, num_classes),
        **options,
    )


MODELS.register_module(name="FasterRCNN", module=build_faster_rcnn)
