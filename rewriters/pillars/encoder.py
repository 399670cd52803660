"""The pillars of a batch of clouds on a dense canvas, so that no shape depends on how many cells are occupied."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewriters.ops.pillar_canvas import ADD, MAX, by_cell, pillar_canvas
from rewriters.patching.rewriter import rewrites
from rewriters.pillars.padded_clouds import PaddedClouds
from zoo.models.pillars.encoder import PillarEncoder

XYZ = 3


@rewrites(
    PillarEncoder,
    "forward",
    reason="keeps the points inside by a mask and numbers the occupied cells by torch.unique: dynamo refuses their "
    "number, and ONNX Runtime refuses the graph of torchscript",
    written_for="zooport 0.1",
)
def forward_on_canvas(_original: Callable[..., Any], self: PillarEncoder, clouds: Any) -> Any:
    """A PaddedClouds -> canvas float32 [N, C, rows, columns].

    Points that are padding, outside of the grid or not finite have the cell behind the last one, which counts nowhere:
    what the network makes of them, not a number included, stays in their own rows.
    """
    if not isinstance(clouds, PaddedClouds):
        return NotImplemented
    grid = self.grid
    num_cells = grid.rows * grid.columns
    column, row, inside = self.places(clouds.points)
    inside = inside & clouds.are_points()
    cell = torch.where(inside, row, 0.0).long() * grid.columns + torch.where(inside, column, 0.0).long()
    cell = torch.where(inside, cell, num_cells)
    points, cell = by_cell(clouds.points, cell)
    row = cell // grid.columns
    column = cell - row * grid.columns
    decorated = self.decorated(points, _means(points, cell, num_cells), column.float(), row.float())
    rows = self.features(decorated.flatten(0, 1))  # of two axes, of which the norm moves none
    features = rows.reshape(cell.shape[0], -1, self.channels)  # -1, because torchscript's Reshape copies a size of 0
    canvas: Tensor = pillar_canvas(features, cell, num_cells, MAX)
    return canvas.reshape(-1, self.channels, grid.rows, grid.columns)


def _means(points: Tensor, cell: Tensor, num_cells: int) -> Tensor:
    """points [N, count, 4], cell [N, count], both by_cell -> the mean x y z of each one's cell [N, count, 3]."""
    ones = torch.ones_like(points[..., :1])
    sums = pillar_canvas(torch.cat((points[..., :XYZ], ones), dim=-1), cell, num_cells, ADD)
    means = sums[:, :XYZ] / sums[:, XYZ:].clamp(min=1)
    index = cell.clamp(max=num_cells - 1)[:, None].expand(-1, XYZ, -1)
    by_point: Tensor = means.gather(2, index).transpose(1, 2)
    return by_point
