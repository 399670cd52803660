"""torchvision's FasterRCNN class, unedited, built from a config.

Source: Ren et al., Faster R-CNN, NeurIPS 2015; torchvision.models.detection.FasterRCNN.
"""

from typing import Any

from torchvision.models.detection import FasterRCNN

from zoo.models.detection.rcnn.rcnn_arguments import rcnn_arguments
from zoo.registry import MODELS


def build_faster_rcnn(**options: Any) -> FasterRCNN:
    """A FasterRCNN on a ResNet-18 feature pyramid; `options` as rcnn_arguments takes them."""
    return FasterRCNN(**rcnn_arguments(**options))


MODELS.register_module(name="FasterRCNN", module=build_faster_rcnn)
