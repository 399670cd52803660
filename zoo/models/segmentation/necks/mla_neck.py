"""The multi-level aggregation of SETR.

Source: Zheng et al., Rethinking Semantic Segmentation from a Sequence-to-Sequence Perspective with Transformers, CVPR
2021; parameter names as in mmseg.
"""

from collections.abc import Sequence
from itertools import accumulate
from operator import add

from torch import Tensor, nn

from zoo.models.segmentation.backbones.convnext import LayerNorm2d
from zoo.models.segmentation.conv_module import ConvModule
from zoo.registry import MODELS


class Aggregation(nn.Module):
    """Maps of one size -> as many of `channels`, the last one first, each with all maps after it added."""

    def __init__(self, in_channels: Sequence[int], channels: int) -> None:
        super().__init__()
        self.channel_proj = nn.ModuleList(ConvModule(width, channels, 1) for width in in_channels)
        self.feat_extract = nn.ModuleList(ConvModule(channels, channels, 3) for _ in in_channels)

    def forward(self, features: Sequence[Tensor]) -> list[Tensor]:
        projected = [conv(x) for conv, x in zip(self.channel_proj, features, strict=True)]
        sums = accumulate(reversed(projected), add)
        return [conv(x) for conv, x in zip(self.feat_extract, sums, strict=True)]


@MODELS.register_module()
class MLANeck(nn.Module):
    """Maps of one size, normalised with `norm_eps` and aggregated -> as many of `out_channels`."""

    def __init__(self, in_channels: Sequence[int], out_channels: int, norm_eps: float = 1e-6) -> None:
        super().__init__()
        self.norm = nn.ModuleList(LayerNorm2d(width, norm_eps) for width in in_channels)
        self.mla = Aggregation(in_channels, out_channels)

    def forward(self, features: Sequence[Tensor]) -> list[Tensor]:
        out: list[Tensor] = self.mla([norm(x) for norm, x in zip(self.norm, features, strict=True)])
        return out
