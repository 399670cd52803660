"""PIDNet: a branch for details, one for context, and one for edges, which decides between the two.

Source: Xu et al., PIDNet: A Real-time Semantic Segmentation Network Inspired by PID Controllers, CVPR 2023; parameter
names as in mmseg.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.backbones.branch_blocks import (
    Branches,
    NormFirst,
    ParallelPyramidPooling,
    PyramidPooling,
)
from zoo.models.segmentation.conv_module import ConvModule
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS

SMALL = 2  # blocks of the stem: a network with more of them has larger parts


def shortcut(in_channels: int, channels: int, stride: int) -> nn.Module:
    """A 1x1 convolution and a norm."""
    return ConvModule(in_channels, channels, 1, stride, activation=None)


class GuidedFusion(nn.Module):
    """Details [N, C, h, w], replaced by the context, of any size, where the two are alike."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.f_i = ConvModule(in_channels, channels, 1, activation=None)
        self.f_p = ConvModule(in_channels, channels, 1, activation=None)

    def forward(self, details: Tensor, context: Tensor) -> Tensor:
        size = details.shape[2:]
        alike = (self.f_p(details) * resize(self.f_i(context), size)).sum(dim=1, keepdim=True)
        share = torch.sigmoid(alike)
        return share * resize(context, size) + (1 - share) * details


class Choice(nn.Module):
    """Details at edges and the context elsewhere, convolved."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = NormFirst(channels, channels, 3)

    def forward(self, details: Tensor, context: Tensor, edges: Tensor) -> Tensor:
        share = torch.sigmoid(edges)
        out: Tensor = self.conv(share * details + (1 - share) * context)
        return out


class LightChoice(nn.Module):
    """The same by two convolutions of single places."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.f_p = ConvModule(channels, channels, 1, activation=None)
        self.f_i = ConvModule(channels, channels, 1, activation=None)

    def forward(self, details: Tensor, context: Tensor, edges: Tensor) -> Tensor:
        share = torch.sigmoid(edges)
        out: Tensor = self.f_p((1 - share) * context + details) + self.f_i(context + share * details)
        return out


@MODELS.register_module()
class PIDNet(nn.Module):
    """images [N, 3, H, W] -> one map, [N, 4 channels, H/8, W/8].

    `ppm_channels`: of the pyramid pooling. `num_stem_blocks`, `num_branch_blocks`: blocks of the stem and the details,
    and of the context; a network with two in its stem has lighter parts.
    """

    def __init__(
        self,
        channels: int = 64,
        ppm_channels: int = 96,
        num_stem_blocks: int = 2,
        num_branch_blocks: int = 3,
        *,
        align_corners: bool = False,
    ) -> None:
        super().__init__()
        self.align_corners = align_corners
        branches, fine, out = Branches(shortcut), 2 * channels, 4 * channels
        is_small = num_stem_blocks == SMALL
        self.stem = branches.stem(channels, num_stem_blocks)
        self.i_branch_layers = nn.ModuleList(
            [
                branches.basic(fine, out, num_branch_blocks, 2),
                branches.basic(out, 2 * out, num_branch_blocks, 2),
                branches.bottlenecks(2 * out, 2 * out, 2, 2),
            ]
        )
        self.p_branch_layers = nn.ModuleList(
            [
                branches.basic(fine, fine, num_stem_blocks),
                branches.basic(fine, fine, num_stem_blocks),
                branches.bottlenecks(fine, fine, 1),
            ]
        )
        edges = channels if is_small else fine
        second = branches.bottlenecks(edges, channels, 1) if is_small else branches.block(fine, fine)
        self.d_branch_layers = nn.ModuleList([branches.block(fine, edges), second, branches.bottlenecks(fine, fine, 1)])
        self.compression_1 = ConvModule(out, fine, 1, activation=None)
        self.compression_2 = ConvModule(2 * out, fine, 1, activation=None)
        self.pag_1, self.pag_2 = GuidedFusion(fine, channels), GuidedFusion(fine, channels)
        self.diff_1 = ConvModule(out, edges, 3, activation=None)
        self.diff_2 = ConvModule(2 * out, fine, 3, activation=None)
        self.spp = (ParallelPyramidPooling if is_small else PyramidPooling)(16 * channels, ppm_channels, out)
        self.dfm = LightChoice(out) if is_small else Choice(out)

    def forward(self, x: Tensor) -> list[Tensor]:
        context = details = edges = self.stem(x)
        size = details.shape[2:]
        exchanges = ((self.compression_1, self.pag_1, self.diff_1), (self.compression_2, self.pag_2, self.diff_2))
        layers = list(zip(self.i_branch_layers, self.p_branch_layers, self.d_branch_layers, strict=True))
        for (i_layer, p_layer, d_layer), (compression, fusion, difference) in zip(layers, exchanges, strict=False):
            context = F.relu(i_layer(context))
            details = F.relu(fusion(p_layer(details), compression(context)))
            edges = F.relu(d_layer(edges) + resize(difference(context), size, self.align_corners))
        i_layer, p_layer, d_layer = layers[-1]
        context = resize(self.spp(i_layer(context)), size, self.align_corners)
        return [self.dfm(p_layer(details), context, d_layer(edges))]
