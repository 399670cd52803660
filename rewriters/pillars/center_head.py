"""Centres, sizes and yaws of the candidates alone, of which there are some hundred among thousands of cells.

A branch of the head is two convolutions of 3 x 3, so what it gives for a cell depends on the 5 x 5 cells around it. The
windows of all candidates side by side are an image [F, 5, K * 5], in which the middle 3 x 3 of each window see no other
window, and those again are an image [F, 3, K * 3], of whose rows and columns the middle ones are used.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rewriters.patching.constants import as_ints
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.padded import gather_rows
from zoo.models.pillars.center_point import CenterHead, CenterMaps
from zoo.target import RESULTS

WINDOW, MIDDLE = 5, 3


class BranchOnDemand(NamedTuple):
    """A map of the head that is not computed yet: its two convolutions, and their features [N, F, h, w]."""

    branch: nn.Sequential
    features: Tensor


@rewrites(
    CenterHead,
    "forward",
    reason="computes centre, size and yaw of every cell, of which those of the candidates are used",
    written_for="zooport 0.1",
    levels=RESULTS,
)
def head_of_candidates(
    original: Callable[..., Any], self: CenterHead, features: Tensor
) -> tuple[Tensor | BranchOnDemand, ...]:
    """features [N, F, h, w] -> the heatmap [N, C, h, w], and the other four maps on demand."""
    shared = self.shared(features)
    heat, *others = self.branches
    return heat(shared), *(BranchOnDemand(cast("nn.Sequential", branch), shared) for branch in others)


def codes_of(maps: CenterMaps, cells: Tensor) -> Tensor:
    """The codes of `cells` int64 [N, K] -> [N, K, 8], of maps, or of those on demand."""
    branches: list[Any] = [map_ for map_ in maps[1:] if isinstance(map_, BranchOnDemand)]
    if not branches:
        return gather_rows(maps.codes(), cells)
    features = branches[0].features
    height, width = as_ints(features.shape[2:])
    row = cells // width
    column = cells - row * width
    image = _windows(features, row, column)
    inside = (_around(row, height)[..., :, None] & _around(column, width)[..., None, :]).transpose(1, 2)
    return torch.cat([_of_candidates(branch, image, inside) for branch, _ in branches], dim=1).transpose(1, 2)


def _windows(features: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """[N, F, h, w], places [N, K] -> the windows around them [N, F, WINDOW, K * WINDOW], zeros outside the map."""
    reach = WINDOW // 2
    padded = F.pad(features, (reach,) * 4)
    steps = torch.arange(WINDOW)
    rows, columns = (row[..., None] + steps)[..., :, None], (column[..., None] + steps)[..., None, :]
    index = (rows * as_ints(padded.shape[3:])[0] + columns).transpose(1, 2)  # [N, WINDOW, K, WINDOW]
    flat = index.flatten(1)[:, None].expand(-1, features.shape[1], -1)
    windows = padded.flatten(2).gather(2, flat)
    return windows.reshape(*windows.shape[:2], WINDOW, -1)


def _around(place: Tensor, size: int) -> Tensor:
    """Rows or columns int64 [N, K] -> which of the MIDDLE around each are on the map, bool [N, K, MIDDLE]."""
    around = place[..., None] + torch.arange(MIDDLE) - MIDDLE // 2
    return (around >= 0) & (around < size)


def _of_candidates(branch: nn.Sequential, image: Tensor, inside: Tensor) -> Tensor:
    """The windows [N, F, WINDOW, K * WINDOW], and inside bool [N, MIDDLE, K, MIDDLE] -> [N, channels, K]."""
    edge = (WINDOW - MIDDLE) // 2
    hidden = branch[0](image)
    hidden = hidden.reshape(*hidden.shape[:3], -1, WINDOW)[:, :, edge:-edge, :, edge:-edge]
    hidden = torch.where(inside[:, None], hidden, 0.0).flatten(3)  # the map's own padding of the second convolution
    values: Tensor = branch[1](hidden)[:, :, MIDDLE // 2, MIDDLE // 2 :: MIDDLE]
    return values
