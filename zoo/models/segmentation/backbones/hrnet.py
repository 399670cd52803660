"""HRNet, whose branches keep several resolutions from end to end.

Source: Wang et al., Deep High-Resolution Representation Learning for Visual Recognition, PAMI 2020; parameter names as
in mmseg.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from zoo.models.residual_blocks import BasicBlock, Bottleneck
from zoo.models.segmentation.resize import Enlarged, resize
from zoo.registry import MODELS

STEM_CHANNELS = 64
BLOCKS: dict[str, type[BasicBlock | Bottleneck]] = {"BASIC": BasicBlock, "BOTTLENECK": Bottleneck}


def convolution(in_channels: int, out_channels: int, kernel: int, stride: int, *, activated: bool) -> nn.Sequential:
    """Convolution and norm, with an activation or not; padded so that stride 1 keeps the size."""
    conv = nn.Conv2d(in_channels, out_channels, kernel, stride, kernel // 2, bias=False)
    layers = [conv, nn.BatchNorm2d(out_channels)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if activated else nn.Sequential(*layers)


def blocks_of(block: type[BasicBlock | Bottleneck], count: int, in_channels: int, channels: int) -> nn.Sequential:
    """Residual blocks of stride 1."""
    width = channels * block.expansion
    return nn.Sequential(*(block(width if index else in_channels, channels) for index in range(count)))


def reduction(in_channels: int, out_channels: int, steps: int, *, activated: bool) -> nn.Sequential:
    """A fine map [N, C, h, w] -> [N, C_out, h / 2^steps, w / 2^steps]; `activated`: after the last step as well."""
    widths = [*([in_channels] * steps), out_channels]
    return nn.Sequential(
        *(
            convolution(i, o, 3, 2, activated=activated or step < steps)
            for step, (i, o) in enumerate(pairwise(widths), 1)
        )
    )


class HRModule(nn.Module):
    """Branches of blocks, then each branch's map with those of all the others added to it.

    Maps [N, C_i, h_i, w_i], the finest first -> the same shapes.
    """

    def __init__(self, block: str, counts: Sequence[int], channels: Sequence[int]) -> None:
        super().__init__()
        kind = BLOCKS[block]
        widths = [width * kind.expansion for width in channels]
        self.branches = nn.ModuleList(
            blocks_of(kind, count, width, own) for count, width, own in zip(counts, widths, channels, strict=True)
        )
        self.fuse_layers = nn.ModuleList(
            nn.ModuleList(self.way(widths, source, to) for source in range(len(widths))) for to in range(len(widths))
        )
        self.relu = nn.ReLU()

    def way(self, widths: Sequence[int], source: int, to: int) -> nn.Module:
        """What brings the map of a branch to the shape of another one's."""
        if source == to:
            return nn.Identity()
        if source > to:
            changed = convolution(widths[source], widths[to], 1, 1, activated=False)
            return changed.append(Enlarged(2 ** (source - to)))
        return reduction(widths[source], widths[to], to - source, activated=False)

    def forward(self, maps: Sequence[Tensor]) -> list[Tensor]:
        maps = [branch(x) for branch, x in zip(self.branches, maps, strict=True)]
        fused = []
        for to, ways in enumerate(self.fuse_layers):
            terms = [way(x) for way, x in zip(ways, maps, strict=True)]  # type: ignore[call-overload]
            terms[to + 1 :] = [resize(x, maps[to].shape[2:]) for x in terms[to + 1 :]]  # a factor may overshoot
            fused.append(self.relu(sum(terms[1:], start=terms[0])))
        return fused


@MODELS.register_module()
class HRNet(nn.Module):
    """images [N, 3, H, W] -> a map of each branch of the last stage, at 1/4, 1/8, 1/16 and 1/32 of the image.

    `stages`: for each but the first `num_modules`, `block` ("BASIC" or "BOTTLENECK"), and for each branch `num_blocks`
    and `num_channels`. A stage has one branch more than the one before it; the first has one module of one branch.
    """

    def __init__(self, stages: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, STEM_CHANNELS, 3, 2, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(STEM_CHANNELS)
        self.conv2 = nn.Conv2d(STEM_CHANNELS, STEM_CHANNELS, 3, 2, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(STEM_CHANNELS)
        self.relu = nn.ReLU(inplace=True)
        first, *others = stages
        block = BLOCKS[first["block"]]
        self.layer1 = blocks_of(block, first["num_blocks"][0], STEM_CHANNELS, first["num_channels"][0])
        self.depth = len(others)
        widths = [first["num_channels"][0] * block.expansion]
        for number, stage in enumerate(others, 1):
            after = [width * BLOCKS[stage["block"]].expansion for width in stage["num_channels"]]
            modules = (
                HRModule(stage["block"], stage["num_blocks"], stage["num_channels"])
                for _ in range(stage["num_modules"])
            )
            self.add_module(f"transition{number}", _transition(widths, after))
            self.add_module(f"stage{number + 1}", nn.Sequential(*modules))
            widths = after

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        maps = [self.layer1(x)]
        for number in range(1, self.depth + 1):
            transition: Any = self.get_submodule(f"transition{number}")
            maps = [change(maps[min(index, len(maps) - 1)]) for index, change in enumerate(transition)]
            maps = self.get_submodule(f"stage{number + 1}")(maps)
        return maps


def _transition(before: Sequence[int], after: Sequence[int]) -> nn.ModuleList:
    """What makes a stage's inputs of the maps before it; new branches come from the coarsest."""
    changes = nn.ModuleList()
    for index, width in enumerate(after):
        steps = index + 1 - len(before)
        if steps > 0:
            changes.append(reduction(before[-1], width, steps, activated=True))
        elif width == before[index]:
            changes.append(nn.Identity())
        else:
            changes.append(convolution(before[index], width, 3, 1, activated=True))
    return changes
