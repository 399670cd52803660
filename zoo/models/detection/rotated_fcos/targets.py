"""What each place of the pyramid learns of an image's objects."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

RADIUS = 1.5  # strides around an object's centre: only places that are nearer learn it


class Targets(NamedTuple):
    """Of the places [M]: `objects`, which one each learns, -1 for none; `sides` [M, 4], the distances to its sides.

    Distances are to the left, top, right and bottom side, in the object's frame, in pixels.
    """

    objects: Tensor
    sides: Tensor


def assigned(centers: Tensor, strides: Tensor, limits: Tensor, boxes: Tensor) -> Targets:
    """centers [M, 2], strides [M], limits [M, 2] (the longest distance is more than the first, and at most the second),
    boxes [n, 5] -> the smallest of the objects that a place lies in.

    Source: Tian et al., FCOS, ICCV 2019, with centre sampling; in the box's frame as mmrotate's RotatedFCOSHead.
    """
    count = len(centers)
    if not len(boxes):
        return Targets(centers.new_full((count,), -1, dtype=torch.int64), centers.new_zeros(count, 4))
    offset = centers[:, None] - boxes[None, :, :2]  # [M, n, 2]
    cosine, sine = torch.cos(boxes[:, 4]), torch.sin(boxes[:, 4])
    across = offset[..., 0] * cosine + offset[..., 1] * sine
    down = offset[..., 1] * cosine - offset[..., 0] * sine
    half_w, half_h = boxes[:, 2] / 2, boxes[:, 3] / 2
    sides = torch.stack((half_w + across, half_h + down, half_w - across, half_h - down), dim=-1)  # [M, n, 4]
    longest = sides.amax(dim=-1)
    near = torch.maximum(across.abs(), down.abs()) < strides[:, None] * RADIUS
    learns = near & (sides.amin(dim=-1) > 0) & (longest > limits[:, :1]) & (longest <= limits[:, 1:])
    areas = torch.where(learns, boxes[:, 2] * boxes[:, 3], torch.inf)
    smallest, index = areas.min(dim=1)
    chosen = sides.gather(1, index[:, None, None].expand(-1, 1, 4))[:, 0]
    return Targets(torch.where(smallest < torch.inf, index, -1), chosen)


def limits_of_places(counts: Sequence[int], limits: Sequence[float]) -> Tensor:
    """float32 [M, 2], from the number of places of each level and the `limits` between the levels, in pixels."""
    ends = [-1.0, *limits, torch.inf]
    return torch.cat([torch.tensor([ends[level : level + 2]]).expand(count, 2) for level, count in enumerate(counts)])


def centerness(sides: Tensor) -> Tensor:
    """Distances [n, 4] -> [n]: 1 at the centre of the object, 0 at its sides."""
    across, down = sides[:, 0::2], sides[:, 1::2]
    ratio = across.amin(dim=1) / across.amax(dim=1) * down.amin(dim=1) / down.amax(dim=1)
    return ratio.clamp(min=0).sqrt()
