"""CGNet.

Source: Wu et al., CGNet: A Light-weight Context Guided Network for Semantic Segmentation, TIP 2021; parameter names as
in mmseg.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule, Norm
from zoo.registry import MODELS


def convolution(in_channels: int, channels: int, kernel_size: int, stride: int, norm: Norm) -> ConvModule:
    """With a PReLU for each channel."""
    return ConvModule(in_channels, channels, kernel_size, stride, norm=norm, activation=partial(nn.PReLU, channels))


def normed(channels: int, norm: Norm) -> nn.Sequential:
    """Norm and activation."""
    return nn.Sequential(norm(channels), nn.PReLU(channels))


class GlobalScale(nn.Module):
    """[N, C, h, w] with each channel scaled by what two layers make of the means of all."""

    def __init__(self, channels: int, reduction: int) -> None:
        super().__init__()
        inner = channels // reduction
        layers = nn.Linear(channels, inner), nn.ReLU(inplace=True), nn.Linear(inner, channels), nn.Sigmoid()
        self.fc = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x * self.fc(x.mean(dim=(2, 3)))[:, :, None, None]
        return out


class ContextGuidedBlock(nn.Module):
    """A place's neighbours and its wider surroundings together: [N, C_in, h, w] -> [N, channels, h, w].

    `downsample`: half of the size; without it, a shortcut.
    """

    def __init__(
        self, in_channels: int, channels: int, dilation: int, reduction: int, norm: Norm, *, downsample: bool
    ) -> None:
        super().__init__()
        inner = channels if downsample else channels // 2
        kernel_size, stride = (3, 2) if downsample else (1, 1)
        self.conv1x1 = convolution(in_channels, inner, kernel_size, stride, norm)
        self.f_loc = nn.Conv2d(inner, inner, 3, padding=1, groups=inner, bias=False)
        self.f_sur = nn.Conv2d(inner, inner, 3, 1, dilation, dilation, inner, bias=False)
        self.bn, self.activate = norm(2 * inner), nn.PReLU(2 * inner)
        self.bottleneck = nn.Conv2d(2 * inner, channels, 1, bias=False) if downsample else None
        self.f_glo = GlobalScale(channels, reduction)

    def forward(self, x: Tensor) -> Tensor:
        out = self.conv1x1(x)
        out = self.activate(self.bn(torch.cat([self.f_loc(out), self.f_sur(out)], dim=1)))
        if self.bottleneck is None:
            shared: Tensor = x + self.f_glo(out)
            return shared
        smaller: Tensor = self.f_glo(self.bottleneck(out))
        return smaller


@MODELS.register_module()
class CGNet(nn.Module):
    """images [N, 3, H, W] -> three maps, at 1/2, 1/4 and 1/8 of the image.

    `num_channels`: of the stem and of two levels, whose last maps have two times as many, and three more from the
    image but for the last. `num_blocks`, `dilations`, `reductions`: of the two levels. `norm_eps`: of the batch norms,
    as in mmseg's configs.
    """

    def __init__(
        self,
        num_channels: Sequence[int] = (32, 64, 128),
        num_blocks: Sequence[int] = (3, 21),
        dilations: Sequence[int] = (2, 4),
        reductions: Sequence[int] = (8, 16),
        norm_eps: float = 1e-3,
    ) -> None:
        super().__init__()
        norm = partial(nn.BatchNorm2d, eps=norm_eps)
        stem, first, second = num_channels
        self.stem = nn.Sequential(
            convolution(3, stem, 3, 2, norm), convolution(stem, stem, 3, 1, norm), convolution(stem, stem, 3, 1, norm)
        )
        self.halved = nn.AvgPool2d(3, 2, 1)
        self.norm_prelu_0, self.norm_prelu_1 = normed(stem + 3, norm), normed(2 * first + 3, norm)
        self.norm_prelu_2 = normed(2 * second, norm)
        for number, (before, width) in enumerate(((stem + 3, first), (2 * first + 3, second))):
            blocks = nn.ModuleList(
                ContextGuidedBlock(
                    width if index else before,
                    width,
                    dilations[number],
                    reductions[number],
                    norm,
                    downsample=index == 0,
                )
                for index in range(num_blocks[number])
            )
            self.add_module(f"level{number + 1}", blocks)

    def forward(self, x: Tensor) -> list[Tensor]:
        half = self.halved(x)
        quarter = self.halved(half)
        stem = self.norm_prelu_0(torch.cat([self.stem(x), half], dim=1))
        first, last = _through(self.get_submodule("level1"), stem)
        middle = self.norm_prelu_1(torch.cat([last, first, quarter], dim=1))
        first, last = _through(self.get_submodule("level2"), middle)
        return [stem, middle, self.norm_prelu_2(torch.cat([first, last], dim=1))]


def _through(blocks: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """What the first block of a level gives, and the last one."""
    first, *others = blocks.children()
    begun = x = first(x)
    for block in others:
        x = block(x)
    return begun, x
