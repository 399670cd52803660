"""From points to a canvas of pillars: dynamic voxelisation, so that all points count and their order does not.

Source: Lang et al., PointPillars, CVPR 2019, section 2.1; Zhou et al., End-to-End Multi-View Fusion, CoRL 2019, for
dynamic voxelisation, which has no largest number of pillars or of points in one.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.pillars.grid import PillarGrid

DECORATED = 9  # x y z intensity, offset from the pillar's mean (3), offset from the pillar's centre (2)


class PillarEncoder(nn.Module):
    """Point clouds, N x float32 [n, 4] -> canvas float32 [N, C, rows, columns], zeros where no point is.

    A pillar's features are the largest of its points', after one layer.
    """

    def __init__(self, grid: PillarGrid, channels: int) -> None:
        super().__init__()
        self.grid, self.channels = grid, channels
        self.linear = nn.Linear(DECORATED, channels, bias=False)
        self.norm = nn.BatchNorm1d(channels, eps=1e-3, momentum=0.01)

    def forward(self, clouds: Sequence[Tensor]) -> Tensor:
        grid, cells_of_cloud = self.grid, self.grid.rows * self.grid.columns
        kept, places, cells = [], [], []
        for number, cloud in enumerate(clouds):
            column, row, inside = self.places(cloud)
            kept.append(cloud[inside])
            places.append(torch.stack((column[inside], row[inside])))
            cells.append(number * cells_of_cloud + row[inside].long() * grid.columns + column[inside].long())
        points, (column, row), cell = torch.cat(kept), torch.cat(places, dim=1), torch.cat(cells)
        pillars, pillar, count = torch.unique(cell, return_inverse=True, return_counts=True)
        sums = points.new_zeros(len(pillars), 3).index_add_(0, pillar, points[:, :3])
        mean = sums / count[:, None]
        features = self.features(self.decorated(points, mean[pillar], column, row))
        best = features.new_zeros(len(pillars), self.channels)
        best = best.scatter_reduce(0, pillar[:, None].expand_as(features), features, "amax")
        canvas = best.new_zeros(len(clouds) * cells_of_cloud, self.channels).index_put((pillars,), best)
        return canvas.view(len(clouds), grid.rows, grid.columns, self.channels).permute(0, 3, 1, 2)

    def places(self, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As PillarGrid.places."""
        return self.grid.places(points)

    def decorated(self, points: Tensor, mean: Tensor, column: Tensor, row: Tensor) -> Tensor:
        """points [..., 4], the mean x y z of each one's pillar [..., 3], its place [...] -> [..., DECORATED]."""
        offset = points[..., :2] - self.grid.centers(column, row)
        return torch.cat((points, points[..., :3] - mean, offset), dim=-1)

    def features(self, decorated: Tensor) -> Tensor:
        """[n, DECORATED] or [N, n, DECORATED] -> the same with C, 0 or more."""
        linear = self.linear(decorated)
        if linear.dim() == 2:  # noqa: PLR2004 - [n, C]
            return F.relu(self.norm(linear))
        return F.relu(self.norm(linear.transpose(1, 2)).transpose(1, 2))
