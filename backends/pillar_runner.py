"""Points through a file that takes pillars: the host puts the points into them, and counts those that find no slot."""

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence

from backends.runner import Array, Runner
from backends.voxeliser import voxelised
from zoo.input_kinds.points.kind import NUM_POINTS, POINTS
from zoo.pillars import Pillars
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

LOGGER = logging.getLogger(__name__)


class PillarRunner(Runner):
    """points, num_points -> the outputs of `pillar_runner`, which takes voxels, counts and cells.

    `cut_points`: how many points of all runs found no slot; a warning is logged the first time that it happens.
    """

    def __init__(
        self,
        pillar_runner: Runner,
        pillars: Pillars,
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec],
        axes: Mapping[str, AxisRange] | None = None,
    ) -> None:
        super().__init__(inputs, outputs, axes)
        self.pillar_runner = pillar_runner
        self.pillars = pillars
        self.cut_points = 0
        self._lock = threading.Lock()

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        made = voxelised(arrays[POINTS.name], arrays[NUM_POINTS.name], self.pillars)
        if made.cut:
            self._report(made.cut, int(arrays[NUM_POINTS.name].sum()))
        outputs = self.pillar_runner.run(made.arrays)
        return [outputs[spec.name] for spec in self.outputs]

    def _report(self, cut: int, points: int) -> None:
        with self._lock:
            first = not self.cut_points
            self.cut_points += cut
        if first:
            LOGGER.warning(
                "%d of %d points were left out: this deployment keeps %d points of a pillar, and up to %d pillars; "
                "deploy it with a larger export.level_options",
                *(cut, points, self.pillars.slots, self.pillars.count.max),
            )

    def _release(self) -> None:
        self.pillar_runner.close()
