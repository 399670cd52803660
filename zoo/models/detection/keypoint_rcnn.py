"""torchvision's KeypointRCNN class, unedited, built from a config.

Source: He et al., Mask R-CNN, ICCV 2017; torchvision.models.detection.KeypointRCNN.
"""

from typing import Any

from torchvision.models.detection import KeypointRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.keypoint_rcnn import KeypointRCNNHeads, KeypointRCNNPredictor

from zoo.models.detection.resnet_fpn import ResNetFPN
from zoo.registry import MODELS

POOL_SIZE = 7


def build_keypoint_rcnn(
    num_classes: int,
    num_keypoints: int,
    backbone: dict[str, Any],
    anchor_sizes: tuple[int, ...] = (32, 64, 128, 256, 512),
    aspect_ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
    box_head_channels: int = 1024,
    keypoint_channels: tuple[int, ...] = (512,) * 8,
    **options: Any,
) -> KeypointRCNN:
    """A KeypointRCNN on a ResNet-18 feature pyramid.

    `num_classes` counts the background (id 0); every object has `num_keypoints`. `anchor_sizes` in pixels, one for each
    pyramid level. `keypoint_channels` of the keypoint head's convolutions. `options` are the keyword arguments of
    torchvision's KeypointRCNN (thresholds, proposal counts, min_size, max_size ...).
    """
    features = ResNetFPN(**backbone)
    return KeypointRCNN(
        features,
        rpn_anchor_generator=AnchorGenerator(
            tuple((size,) for size in anchor_sizes), (tuple(aspect_ratios),) * len(anchor_sizes)
        ),
        box_head=TwoMLPHead(features.out_channels * POOL_SIZE**2, box_head_channels),
        box_predictor=FastRCNNPredictor(box_head_channels, num_classes),
        keypoint_head=KeypointRCNNHeads(features.out_channels, keypoint_channels),
        keypoint_predictor=KeypointRCNNPredictor(keypoint_channels[-1], num_keypoints),
        **options,
    )


MODELS.register_module(name="KeypointRCNN", module=build_keypoint_rcnn)
