"""torchvision's MaskRCNN class, unedited, built from a config.

Source: He et al., Mask R-CNN, ICCV 2017; torchvision.models.detection.MaskRCNN.
"""

from typing import Any

from torchvision.models.detection import MaskRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor

from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.registry import MODELS

POOL_SIZE = 7


def build_mask_rcnn(
    num_classes: int,
    backbone: dict[str, Any],
    anchor_sizes: tuple[int, ...] = (32, 64, 128, 256, 512),
    aspect_ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
    box_head_channels: int = 1024,
    mask_channels: tuple[int, ...] = (256, 256, 256, 256),
    **options: Any,
) -> MaskRCNN:
    """A MaskRCNN on a ResNet-18 feature pyramid.

    `num_classes` counts the background (id 0). `anchor_sizes` in pixels, one for each pyramid level. `mask_channels` of
    the mask head's convolutions; the last is also that of the upsampling before the masks. `options` are the keyword
    arguments of torchvision's MaskRCNN (thresholds, proposal counts, min_size, max_size ...).
    """
    features = ResNetFPN(**backbone)
    return MaskRCNN(
        features,
        rpn_anchor_generator=AnchorGenerator(
            tuple((size,) for size in anchor_sizes), (tuple(aspect_ratios),) * len(anchor_sizes)
        ),
        box_head=TwoMLPHead(features.out_channels * POOL_SIZE**2, box_head_channels),
        box_predictor=FastRCNNPredictor(box_head_channels, num_classes),
        mask_head=MaskRCNNHeads(features.out_channels, mask_channels, dilation=1),
        mask_predictor=MaskRCNNPredictor(mask_channels[-1], mask_channels[-1], num_classes),
        **options,
    )


MODELS.register_module(name="MaskRCNN", module=build_mask_rcnn)
