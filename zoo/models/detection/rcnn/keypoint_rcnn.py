"""torchvision's KeypointRCNN class, unedited, built from a config.

Source: He et al., Mask R-CNN, ICCV 2017; torchvision.models.detection.KeypointRCNN.
"""

from typing import Any

from torchvision.models.detection import KeypointRCNN
from torchvision.models.detection.keypoint_rcnn import KeypointRCNNHeads, KeypointRCNNPredictor

from zoo.models.detection.rcnn.rcnn_arguments import rcnn_arguments
from zoo.registry import MODELS


def build_keypoint_rcnn(
    num_keypoints: int, keypoint_channels: tuple[int, ...] = (512,) * 8, **options: Any
) -> KeypointRCNN:
    """A KeypointRCNN on a ResNet-18 feature pyramid.

    Every object has `num_keypoints`. `keypoint_channels` of the keypoint head's convolutions. `options` as
    rcnn_arguments takes them.
    """
    arguments = rcnn_arguments(**options)
    return KeypointRCNN(
        **arguments,
        keypoint_head=KeypointRCNNHeads(arguments["backbone"].out_channels, keypoint_channels),
        keypoint_predictor=KeypointRCNNPredictor(keypoint_channels[-1], num_keypoints),
    )


MODELS.register_module(name="KeypointRCNN", module=build_keypoint_rcnn)
