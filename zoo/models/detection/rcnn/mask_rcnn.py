"""torchvision's MaskRCNN class, unedited, built from a config.

Source: He et al., Mask R-CNN, ICCV 2017; torchvision.models.detection.MaskRCNN.
"""

from typing import Any

from torchvision.models.detection import MaskRCNN
from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor

from zoo.models.detection.rcnn.rcnn_arguments import rcnn_arguments
from zoo.registry import MODELS


def build_mask_rcnn(
    num_classes: int, mask_channels: tuple[int, ...] = (256, 256, 256, 256), **options: Any
) -> MaskRCNN:
    """A MaskRCNN on a ResNet-18 feature pyramid.

    `mask_channels` of the mask head's convolutions; the last is also that of the upsampling before the masks.
    `num_classes` and `options` as rcnn_arguments takes them.
    """
    arguments = rcnn_arguments(num_classes, **options)
    return MaskRCNN(
        **arguments,
        mask_head=MaskRCNNHeads(arguments["backbone"].out_channels, mask_channels, dilation=1),
        mask_predictor=MaskRCNNPredictor(mask_channels[-1], mask_channels[-1], num_classes),
    )


MODELS.register_module(name="MaskRCNN", module=build_mask_rcnn)
