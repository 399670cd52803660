"""ResNet-18 with a feature pyramid, as a backbone for torchvision's detectors.

Source: Lin et al., Feature Pyramid Networks for Object Detection, CVPR 2017; torchvision's FeaturePyramidNetwork.
"""

from collections import OrderedDict

from torch import Tensor, nn
from torchvision.ops.feature_pyramid_network import FeaturePyramidNetwork, LastLevelMaxPool

from zoo.models.resnet import ResNet18


class ResNetFPN(nn.Module):
    """images [N, 3, H, W] -> {"0", "1", ..., "pool"}: [N, out_channels, H/s, W/s] for s = 4, 8, 16, 32, 64.

    `first_stage` of the ResNet that the pyramid takes: with 2, the levels are s = 8, 16, 32, 64.
    """

    def __init__(self, base_channels: int = 64, out_channels: int = 256, first_stage: int = 1) -> None:
        super().__init__()
        self.body = ResNet18(base_channels)
        self.first_stage = first_stage
        self.fpn = FeaturePyramidNetwork(self.body.out_channels[first_stage - 1 :], out_channels, LastLevelMaxPool())
        self.out_channels = out_channels  # torchvision's detectors read it

    @property
    def strides(self) -> tuple[int, ...]:
        """Of the levels, in pixels of the image."""
        return (4, 8, 16, 32, 64)[self.first_stage - 1 :]

    def forward(self, x: Tensor) -> "OrderedDict[str, Tensor]":
        features = self.body(x)[self.first_stage - 1 :]
        levels: OrderedDict[str, Tensor] = self.fpn(OrderedDict((str(i), f) for i, f in enumerate(features)))
        return levels
