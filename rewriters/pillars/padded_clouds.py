"""A padded batch of point clouds, with the number of points of each, where a model expects a list of clouds."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

import zoo.models.pillars.levels
from rewriters.patching.rewriter import rewrites


class PaddedClouds(NamedTuple):
    """`points` float32 [N, count, 4]; `num_points` int64 [N]: the first so many of each cloud are points."""

    points: Tensor
    num_points: Tensor

    def are_points(self) -> Tensor:
        """Which rows are points, bool [N, count]."""
        return torch.arange(self.points.shape[1]) < self.num_points[:, None]


@rewrites(
    zoo.models.pillars.levels,
    "clouds_of",
    reason="cuts clouds of different lengths out of the batch, which freezes the batch size and the traced lengths",
    written_for="zooport 0.1",
)
def clouds_as_batch(original: Any, points: Tensor, num_points: Tensor) -> PaddedClouds:
    """The batch as it is, with its numbers."""
    return PaddedClouds(points, num_points)
