"""What makes maps of several sizes of those of a transformer, which have one size.

Source: mmseg's MultiLevelNeck (behaviour and parameter names; the code is our own).
"""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import bare
from zoo.registry import MODELS


@MODELS.register_module()
class MultiLevelNeck(nn.Module):
    """A map, or one for each of `scales` -> maps of `out_channels`, each resized by its scale and convolved."""

    def __init__(self, in_channels: Sequence[int], out_channels: int, scales: Sequence[float] = (0.5, 1, 2, 4)) -> None:
        super().__init__()
        self.scales = tuple(float(scale) for scale in scales)
        self.lateral_convs = nn.ModuleList(bare(channels, out_channels, 1) for channels in in_channels)
        self.convs = nn.ModuleList(bare(out_channels, out_channels, 3) for _ in scales)

    def forward(self, features: Sequence[Tensor]) -> list[Tensor]:
        maps = [conv(x) for conv, x in zip(self.lateral_convs, features, strict=True)]
        if len(maps) == 1:
            maps *= len(self.scales)
        return [
            conv(F.interpolate(x, scale_factor=scale, mode="bilinear"))
            for conv, x, scale in zip(self.convs, maps, self.scales, strict=True)
        ]
