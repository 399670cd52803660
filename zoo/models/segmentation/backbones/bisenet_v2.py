"""BiSeNetV2: a wide branch for details and a deep one for meaning, for segmentation in real time.

Source: Yu et al., BiSeNet V2: Bilateral Network with Guided Aggregation for Real-Time Semantic Segmentation, IJCV 2021;
parameter names as in mmseg.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule, DepthwiseSeparableConvModule
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


class DetailBranch(nn.Module):
    """images [N, 3, H, W] -> [N, channels[-1], H/8, W/8]."""

    def __init__(self, channels: Sequence[int]) -> None:
        super().__init__()
        self.detail_branch = nn.ModuleList()
        before = 3
        for stage, width in enumerate(channels):
            more = [ConvModule(width, width, 3) for _ in range(1 if stage == 0 else 2)]
            self.detail_branch.append(nn.Sequential(ConvModule(before, width, 3, 2), *more))
            before = width

    def forward(self, x: Tensor) -> Tensor:
        for stage in self.detail_branch:
            x = stage(x)
        return x


class StemBlock(nn.Module):
    """images [N, 3, H, W] -> [N, channels, H/4, W/4], by convolution and by pooling."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv_first = ConvModule(3, channels, 3, 2)
        self.convs = nn.Sequential(ConvModule(channels, channels // 2, 1), ConvModule(channels // 2, channels, 3, 2))
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.fuse_last = ConvModule(2 * channels, channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv_first(x)
        out: Tensor = self.fuse_last(torch.cat([self.convs(x), self.pool(x)], dim=1))
        return out


class GatherExpansion(nn.Module):
    """A wide depthwise convolution around a shortcut: [N, C_in, H, W] -> [N, C_out, H/stride, W/stride]."""

    def __init__(self, in_channels: int, out_channels: int, expansion: int, stride: int = 1) -> None:
        super().__init__()
        hidden = in_channels * expansion
        self.conv1 = ConvModule(in_channels, in_channels, 3)
        self.shortcut: nn.Module | None = None
        if stride == 1:
            self.dwconv = nn.Sequential(ConvModule(in_channels, hidden, 3, groups=in_channels))
        else:
            self.dwconv = nn.Sequential(
                ConvModule(in_channels, hidden, 3, stride, groups=in_channels, activation=None),
                ConvModule(hidden, hidden, 3, groups=hidden),
            )
            self.shortcut = nn.Sequential(
                DepthwiseSeparableConvModule(in_channels, out_channels, 3, stride, activation=None)
            )
        self.conv2 = nn.Sequential(ConvModule(hidden, out_channels, 1, activation=None))
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.shortcut is None else self.shortcut(x)
        out: Tensor = self.act(self.conv2(self.dwconv(self.conv1(x))) + shortcut)
        return out


class ContextEmbedding(nn.Module):
    """The mean over the image added to each place of [N, C, H, W]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gap = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(channels))
        self.conv_gap = ConvModule(channels, channels, 1)
        self.conv_last = ConvModule(channels, channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv_last(x + self.conv_gap(self.gap(x)))
        return out


class SemanticBranch(nn.Module):
    """images [N, 3, H, W] -> maps at 1/4, 1/8, 1/16 and 1/32 of the image, and the last with its context."""

    def __init__(self, channels: Sequence[int], expansion: int) -> None:
        super().__init__()
        self.stage1 = StemBlock(channels[0])
        self.names = ["stage1"]
        for stage in range(2, len(channels) + 1):
            before, width = channels[stage - 2 : stage]
            count = 4 if stage == len(channels) else 2
            blocks = [GatherExpansion(width, width, expansion) for _ in range(count - 1)]
            self.names.append(f"stage{stage}")
            self.add_module(self.names[-1], nn.Sequential(GatherExpansion(before, width, expansion, 2), *blocks))
        self.names.append(f"stage{len(channels)}_CEBlock")
        self.add_module(self.names[-1], ContextEmbedding(channels[-1]))

    def forward(self, x: Tensor) -> list[Tensor]:
        features = []
        for name in self.names:
            x = self.get_submodule(name)(x)
            features.append(x)
        return features


class GuidedAggregation(nn.Module):
    """Details [N, C, H/8, W/8] and meaning [N, C, H/32, W/32], each gated by the other -> [N, C, H/8, W/8]."""

    def __init__(self, channels: int, *, align_corners: bool) -> None:
        super().__init__()
        self.align_corners = align_corners
        self.detail_dwconv = nn.Sequential(self._unnormed(channels))
        self.detail_down = nn.Sequential(
            ConvModule(channels, channels, 3, 2, activation=None), nn.AvgPool2d(3, 2, padding=1)
        )
        self.semantic_conv = nn.Sequential(ConvModule(channels, channels, 3, activation=None))
        self.semantic_dwconv = nn.Sequential(self._unnormed(channels))
        self.conv = ConvModule(channels, channels, 3)

    def _unnormed(self, channels: int) -> nn.Module:
        return DepthwiseSeparableConvModule(channels, channels, 3, activation=None, pointwise_norm=None)

    def forward(self, detail: Tensor, semantic: Tensor) -> Tensor:
        fine = self.detail_dwconv(detail)
        size = fine.shape[2:]
        fine = fine * torch.sigmoid(resize(self.semantic_conv(semantic), size, self.align_corners))
        coarse = self.detail_down(detail) * torch.sigmoid(self.semantic_dwconv(semantic))
        out: Tensor = self.conv(fine + resize(coarse, size, self.align_corners))
        return out


@MODELS.register_module()
class BiSeNetV2(nn.Module):
    """images [N, 3, H, W] -> the joined map at 1/8 of the image, then the semantic branch's at 1/4 to 1/32.

    The decode head is an FCNHead on map 0; the others are for auxiliary heads. The last of `detail_channels` and of
    `semantic_channels` must be equal: the branches are multiplied with each other.
    """

    def __init__(
        self,
        detail_channels: Sequence[int] = (64, 64, 128),
        semantic_channels: Sequence[int] = (16, 32, 64, 128),
        semantic_expansion_ratio: int = 6,
        *,
        align_corners: bool = False,
    ) -> None:
        super().__init__()
        if detail_channels[-1] != semantic_channels[-1]:
            raise ValueError(f"the branches end in {detail_channels[-1]} and {semantic_channels[-1]} channels")
        self.detail = DetailBranch(detail_channels)
        self.semantic = SemanticBranch(semantic_channels, semantic_expansion_ratio)
        self.bga = GuidedAggregation(detail_channels[-1], align_corners=align_corners)

    def forward(self, x: Tensor) -> list[Tensor]:
        *semantic, last = self.semantic(x)
        return [self.bga(self.detail(x), last), *semantic]
