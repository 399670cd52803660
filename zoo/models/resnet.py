"""ResNet of any depth and width, with mmseg's stem, strides and dilations, and deformable stages.

Source: He et al., Deep Residual Learning for Image Recognition, CVPR 2016, and Bag of Tricks for Image Classification,
CVPR 2019 (the deep stem of v1c, the averaging shortcuts of v1d); parameter names as in torchvision and mmseg.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor, nn

from zoo.models.deformable_convolution import ModulatedDeformableConv2d
from zoo.models.residual_blocks import BasicBlock, Bottleneck
from zoo.registry import MODELS

Block = type[BasicBlock | Bottleneck]
BLOCKS: dict[int, tuple[Block, tuple[int, ...]]] = {
    18: (BasicBlock, (2, 2, 2, 2)),
    34: (BasicBlock, (3, 4, 6, 3)),
    50: (Bottleneck, (3, 4, 6, 3)),
    101: (Bottleneck, (3, 4, 23, 3)),
    152: (Bottleneck, (3, 8, 36, 3)),
}


@MODELS.register_module()
class ResNet(nn.Module):
    """images [N, 3, H, W] -> four feature maps, of `base_channels` x (1, 2, 4, 8) channels, times 4 from depth 50.

    At the default strides they lie at 1/4, 1/8, 1/16 and 1/32 of the image; a stage with stride 1 keeps its
    resolution and is usually given a dilation instead. `deep_stem`: three 3x3 convolutions instead of one 7x7 (mmseg's
    ResNetV1c), of `stem_channels`, by default as many as `base_channels`. `avg_down`: shortcuts average before their
    convolution (ResNetV1d). `contract_dilation`: the first block of a dilated stage has half its dilation.
    `out_indices`: the stages whose maps are given. `multi_grid`: the dilations of the last stage's blocks, one by one.
    `dilate_both`: see BasicBlock. `deformable`: of which stages the 3x3 convolutions are modulated deformable ones.
    `block_options`: more arguments of the blocks. Raises ValueError for an unknown depth, and for a `multi_grid`
    shorter than the last stage.
    """

    blocks: ClassVar[Mapping[int, tuple[Block, tuple[int, ...]]]] = BLOCKS

    def __init__(
        self,
        depth: int,
        base_channels: int = 64,
        strides: Sequence[int] = (1, 2, 2, 2),
        dilations: Sequence[int] = (1, 1, 1, 1),
        deformable: Sequence[bool] = (False, False, False, False),
        *,
        stem_channels: int | None = None,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        multi_grid: Sequence[int] | None = None,
        deep_stem: bool = False,
        avg_down: bool = False,
        contract_dilation: bool = False,
        dilate_both: bool = False,
        block_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if depth not in self.blocks:
            known = ", ".join(map(str, self.blocks))
            raise ValueError(f"{type(self).__name__} of depth {depth}; expected one of {known}")
        block, counts = self.blocks[depth]
        if multi_grid is not None and len(multi_grid) < counts[-1]:
            raise ValueError(f"multi_grid has {len(multi_grid)} entries; the last stage has {counts[-1]} blocks")
        options = {"avg_down": avg_down, **(block_options or {})}
        if block is BasicBlock:
            options["dilate_both"] = dilate_both
        in_channels = base_channels if stem_channels is None else stem_channels
        self.out_channels = [base_channels * 2**stage * block.expansion for stage in range(len(counts))]
        self.out_indices = tuple(out_indices)
        self.deep_stem = deep_stem
        if deep_stem:
            self.stem = _deep_stem(in_channels)
        else:
            self.conv1 = nn.Conv2d(3, in_channels, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(in_channels)
            self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        for stage, count in enumerate(counts):
            blocks = nn.Sequential()
            conv = ModulatedDeformableConv2d if deformable[stage] else nn.Conv2d
            own = _dilations(dilations[stage], count, contract=contract_dilation)
            if multi_grid is not None and stage == len(counts) - 1:
                own = multi_grid[:count]
            for index, dilation in enumerate(own):
                stride = 1 if index else strides[stage]
                blocks.append(block(in_channels, base_channels * 2**stage, stride, dilation, conv=conv, **options))
                in_channels = self.out_channels[stage]
            setattr(self, f"layer{stage + 1}", blocks)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.stem(x) if self.deep_stem else self.relu(self.bn1(self.conv1(x)))
        x = self.maxpool(x)
        features = []
        for stage in range(len(self.out_channels)):
            x = getattr(self, f"layer{stage + 1}")(x)
            if stage in self.out_indices:
                features.append(x)
        return features


@MODELS.register_module()
class ResNet18(ResNet):
    """The ResNet of depth 18 of the shipped models: a plain stem, and both convolutions of a block are dilated."""

    def __init__(
        self,
        base_channels: int = 64,
        strides: Sequence[int] = (1, 2, 2, 2),
        dilations: Sequence[int] = (1, 1, 1, 1),
        deformable: Sequence[bool] = (False, False, False, False),
    ) -> None:
        super().__init__(18, base_channels, strides, dilations, deformable, dilate_both=True)


def _dilations(dilation: int, count: int, *, contract: bool) -> Sequence[int]:
    """Of the blocks of a stage; `contract`: half of it for the first."""
    first = dilation // 2 if contract and dilation > 1 else dilation
    return [first] + [dilation] * (count - 1)


def _deep_stem(channels: int) -> nn.Sequential:
    """[N, 3, H, W] -> [N, channels, H/2, W/2]."""
    half = channels // 2
    layers: list[nn.Module] = []
    for i, o, stride in ((3, half, 2), (half, half, 1), (half, channels, 1)):
        layers += [nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)
