"""DDRNet: a branch for details and one for context, which exchange what they see.

Source: Pan et al., Deep Dual-Resolution Networks for Real-Time and Accurate Semantic Segmentation of Traffic Scenes,
T-ITS 2022; parameter names as in mmseg.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.backbones.branch_blocks import Branches, PyramidPooling
from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS

BLOCKS = 2


def shortcut(in_channels: int, channels: int, stride: int) -> nn.Module:
    """A 1x1 convolution and a norm."""
    return nn.Sequential(nn.Conv2d(in_channels, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))


@MODELS.register_module()
class DDRNet(nn.Module):
    """images [N, 3, H, W] -> one map, [N, 4 channels, H/8, W/8]. `ppm_channels`: of the pyramid pooling."""

    def __init__(self, channels: int = 32, ppm_channels: int = 128, *, align_corners: bool = False) -> None:
        super().__init__()
        self.align_corners = align_corners
        branches, fine = Branches(shortcut), 2 * channels
        self.stem = branches.stem(channels, BLOCKS)
        self.context_branch_layers = nn.ModuleList(
            [
                branches.basic(fine, 4 * channels, BLOCKS, 2),
                branches.basic(4 * channels, 8 * channels, BLOCKS, 2),
                branches.bottlenecks(8 * channels, 8 * channels, 1, 2),
            ]
        )
        self.spatial_branch_layers = nn.ModuleList(
            [
                branches.basic(fine, fine, BLOCKS),
                branches.basic(fine, fine, BLOCKS),
                branches.bottlenecks(fine, fine, 1),
            ]
        )
        self.compression_1 = ConvModule(4 * channels, fine, 1, activation=None)
        self.compression_2 = ConvModule(8 * channels, fine, 1, activation=None)
        self.down_1 = ConvModule(fine, 4 * channels, 3, 2, activation=None)
        self.down_2 = nn.Sequential(
            ConvModule(fine, 4 * channels, 3, 2), ConvModule(4 * channels, 8 * channels, 3, 2, activation=None)
        )
        self.spp = PyramidPooling(16 * channels, ppm_channels, 4 * channels)

    def forward(self, x: Tensor) -> list[Tensor]:
        context = details = self.stem(x)
        size = details.shape[2:]
        exchanges = ((self.compression_1, self.down_1), (self.compression_2, self.down_2))
        *layers, (last_context, last_details) = zip(self.context_branch_layers, self.spatial_branch_layers, strict=True)
        for (context_layer, details_layer), (compression, down) in zip(layers, exchanges, strict=True):
            context, details = context_layer(context), details_layer(details)
            to_details = resize(compression(F.relu(context)), size, self.align_corners)
            context, details = F.relu(context + down(F.relu(details))), F.relu(details + to_details)
        pooled = resize(self.spp(last_context(context)), size, self.align_corners)
        return [last_details(details) + pooled]
