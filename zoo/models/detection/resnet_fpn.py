"""ResNet-18 with a feature pyramid, as a backbone for torchvision's detectors.

Source: Lin et al., Feature Pyramid Networks for Object Detection, CVPR 2017; torchvision's FeaturePyramidNetwork.
"""

from collections import OrderedDict

from torch import Tensor, nn
from torchvision.ops.feature_pyramid_network import FeaturePyramidNetwork, LastLevelMaxPool

from zoo.models.resnet import ResNet18


class ResNetFPN(nn.Module):
    """images [N, 3, H, W] -> {"0", "1", "2", "3", "pool"}: [N, out_channels, H/s, W/s] for s = 4, 8, 16, 32, 64."""

    def __init__(self, base_channels: int = 64, out_channels: int = 256) -> None:
        super().__init__()
        self.body = ResNet18(base_channels)
        self.fpn = FeaturePyramidNetwork(self.body.out_channels, out_channels, LastLevelMaxPool())
        self.out_channels = out_channels  # torchvision's detectors read it

    def forward(self, x: Tensor) -> "OrderedDict[str, Tensor]":
        features = self.body(x)
        levels: OrderedDict[str, Tensor] = self.fpn(OrderedDict((str(i), f) for i, f in enumerate(features)))
        return levels
