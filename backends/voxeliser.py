"""From points to pillars on the host, as a detector's grid places them: numpy alone."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.input_kinds.points.cloud_form import COLUMNS
from zoo.input_kinds.points.kind import CELLS, COUNTS, VOXELS
from zoo.pillars import Pillars

FLOAT = np.float32


class Voxels(NamedTuple):
    """What `voxelised` makes of N clouds; P pillars each, S slots."""

    voxels: NDArray[np.float32]
    """[N, P, S, 4]: the points of each pillar in their order, then zeros."""
    counts: NDArray[np.int64]
    """[N, P]: how many points each pillar has in its slots; 0 behind the last pillar of a cloud."""
    cells: NDArray[np.int64]
    """[N, P]: the cell of each pillar, row * columns + column, rising; behind the last pillar cells that the grid does
    not have, all different."""
    cut: int
    """How many points found no slot, or no pillar."""

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The inputs of a file by name."""
        return {VOXELS.name: self.voxels, COUNTS.name: self.counts, CELLS.name: self.cells}


class _Grouped(NamedTuple):
    """The points inside of one cloud: `points` [n, 4] by cell, the `pillar` [n] and the `slot` [n] of each.

    `cells`: of each pillar.
    """

    points: NDArray[np.float32]
    pillar: NDArray[np.int64]
    slot: NDArray[np.int64]
    cells: NDArray[np.int64]


def voxelised(points: NDArray[np.float32], num_points: NDArray[np.int64], pillars: Pillars) -> Voxels:
    """points [N, count, 4], of which the first num_points [N] of each cloud count."""
    clouds = [_grouped(cloud[:end], pillars) for cloud, end in zip(points, num_points.tolist(), strict=True)]
    wanted = max((len(cloud.cells) for cloud in clouds), default=0)
    count = min(max(wanted, pillars.count.min), pillars.count.max)
    spare = pillars.size[0] * pillars.size[1] + np.arange(count)
    voxels = np.zeros((len(clouds), count, pillars.slots, COLUMNS), FLOAT)
    counts = np.zeros((len(clouds), count), np.int64)
    cells = np.tile(spare, (len(clouds), 1))
    cut = 0
    for number, cloud in enumerate(clouds):
        kept = (cloud.slot < pillars.slots) & (cloud.pillar < count)
        voxels[number, cloud.pillar[kept], cloud.slot[kept]] = cloud.points[kept]
        counts[number] = np.bincount(cloud.pillar[kept], minlength=count)
        found = cloud.cells[:count]
        cells[number, : len(found)] = found
        cut += len(kept) - int(kept.sum())
    return Voxels(voxels, counts, cells, cut)


def cells_of(cloud: NDArray[np.float32], pillars: Pillars) -> NDArray[np.int64]:
    """The cell of each point of a cloud [n, 4], -1 outside of the grid.

    Computed in float32, operation for operation as the detectors' own grid does: a point at an edge gets the same cell.
    """
    rows, columns = pillars.size
    inside = np.abs(cloud[:, 3]) < np.inf
    for axis in range(3):
        value = cloud[:, axis]
        inside &= (value >= FLOAT(pillars.low[axis])) & (value < FLOAT(pillars.high[axis]))
    x, y = (np.where(inside, cloud[:, axis], FLOAT(pillars.low[axis])) for axis in (0, 1))
    column = np.floor((x - FLOAT(pillars.low[0])) / FLOAT(pillars.side))
    row = np.floor((y - FLOAT(pillars.low[1])) / FLOAT(pillars.side))
    inside &= (column < columns) & (row < rows)
    cells: NDArray[np.int64] = np.where(inside, row.astype(np.int64) * columns + column.astype(np.int64), -1)
    return cells


def _grouped(cloud: NDArray[np.float32], pillars: Pillars) -> _Grouped:
    """A stable sort by cell keeps the points of a pillar in their order."""
    cell = cells_of(cloud, pillars)
    order = np.argsort(cell, kind="stable")
    order = order[np.searchsorted(cell[order], 0) :]
    cell = cell[order]
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    pillar = np.cumsum(np.diff(cell, prepend=-1) > 0) - 1
    slot = np.arange(len(cell)) - first[pillar] if len(cell) else pillar
    return _Grouped(cloud[order], pillar, slot, cell[first])
