"""The clouds of a padded batch without their padding."""

from torch import Tensor


def valid_points(points: Tensor, num_points: Tensor) -> list[Tensor]:
    """points [N, count, 4], num_points int64 [N] -> N clouds [n, 4]: what detectors of point clouds take.

    The ends stay tensors: as numbers they would be constants of a traced graph.
    """
    return [cloud[:end] for cloud, end in zip(points.unbind(), num_points.unbind(), strict=True)]
