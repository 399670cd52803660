"""The feature pyramid network as a neck.

Source: Lin et al., Feature Pyramid Networks for Object Detection, CVPR 2017; parameter names as in mmseg.
"""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import bare
from zoo.registry import MODELS


@MODELS.register_module()
class FPN(nn.Module):
    """Maps, the finest first -> as many of `out_channels`, each with those that are coarser added, then convolved."""

    def __init__(self, in_channels: Sequence[int], out_channels: int) -> None:
        super().__init__()
        self.lateral_convs = nn.ModuleList(bare(width, out_channels, 1) for width in in_channels)
        self.fpn_convs = nn.ModuleList(bare(out_channels, out_channels, 3) for _ in in_channels)

    def forward(self, features: Sequence[Tensor]) -> list[Tensor]:
        maps = [conv(x) for conv, x in zip(self.lateral_convs, features, strict=True)]
        for index in range(len(maps) - 1, 0, -1):
            finer = maps[index - 1]
            maps[index - 1] = finer + F.interpolate(maps[index], finer.shape[2:])
        return [conv(x) for conv, x in zip(self.fpn_convs, maps, strict=True)]
