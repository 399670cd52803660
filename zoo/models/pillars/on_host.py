"""The pillars that the host makes for a detector: its grid, and how many points and pillars they need."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zoo.config.export_section import axis_range
from zoo.errors import InputError, nearest
from zoo.models.pillars.grid import PillarGrid
from zoo.pillars import Pillars
from zoo.target import AxisRange

OPTIONS = ("slots", "pillars")
HEADROOM = 1.25  # slots, of the points in the fullest pillar that was seen
STEP = 32  # slots are a multiple of it, where nobody says how many


def pillars_on_host(
    grid: PillarGrid, options: Mapping[str, Any], clouds: Sequence[NDArray[np.float32]], most_points: int
) -> Pillars:
    """`options`: slots, points of a pillar that are kept; pillars, of a cloud, one number or (least, usual, most).

    Without them no point of these `clouds` is left out, and as many pillars are taken as clouds of `most_points` may
    have. Raises InputError for other options.
    """
    if faults := list(_faults(options)):
        raise InputError(f"export.level_options: {'; '.join(faults)}")
    seen = [occupied(grid, cloud) for cloud in clouds]
    fullest = max((int(counts.max(initial=1)) for counts in seen), default=1)
    most = min(grid.rows * grid.columns, most_points)
    usual = min(most, max((len(counts) for counts in seen), default=1) or 1)
    wanted = options.get("pillars")
    count = AxisRange(1, usual, most) if wanted is None else axis_range("export.level_options.pillars", wanted)
    slots = options.get("slots", -int(-HEADROOM * fullest // STEP) * STEP)
    return Pillars(grid.low, grid.high, grid.side, (grid.rows, grid.columns), slots, count)


def occupied(grid: PillarGrid, cloud: NDArray[np.float32]) -> NDArray[np.int64]:
    """How many points of a cloud [n, 4] each pillar has that has any."""
    column, row, inside = grid.places(torch.from_numpy(np.ascontiguousarray(cloud)))
    cells = (row[inside].long() * grid.columns + column[inside].long()).numpy()
    counts: NDArray[np.int64] = np.unique(cells, return_counts=True)[1]
    return counts


def _faults(options: Mapping[str, Any]) -> Iterator[str]:
    for name in options:
        if name not in OPTIONS:
            yield f'unknown option "{name}"; {nearest(str(name), OPTIONS)}'
    slots = options.get("slots", 1)
    if type(slots) is not int or slots < 1:
        yield f"slots: got {slots!r}, expected a number of points, 1 or more"
