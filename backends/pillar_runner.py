"""Points through a file that takes pillars: the host puts the points into them, and counts those that find no slot."""

from collections.abc import Iterable, Mapping, Sequence

from backends.runner import Array, HostRunner, Runner
from backends.voxeliser import voxelised
from zoo.input_kinds.points.kind import NUM_POINTS, POINTS
from zoo.notices import notice
from zoo.pillars import Pillars
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec


class PillarRunner(HostRunner):
    """points, num_points -> the outputs of `pillar_runner`, which takes voxels, counts and cells.

    `cut_points`: how many points of all runs found no slot; the first time there is a notice.
    """

    def __init__(
        self,
        pillar_runner: Runner,
        pillars: Pillars,
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec],
        axes: Mapping[str, AxisRange] | None = None,
    ) -> None:
        super().__init__(pillar_runner, inputs, outputs, axes)
        self.pillars = pillars
        self.cut_points = 0

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        with self._running():
            made = voxelised(arrays[POINTS.name], arrays[NUM_POINTS.name], self.pillars)
            if made.cut:
                self._report(made.cut, int(arrays[NUM_POINTS.name].sum()))
            outputs = self._inner.run(made.arrays)
        return [outputs[spec.name] for spec in self.outputs]

    def _report(self, cut: int, points: int) -> None:
        with self._lock:
            first = not self.cut_points
            self.cut_points += cut
        if first:
            notice(
                f"{cut} of {points} points were left out: this deployment keeps {self.pillars.slots} points of a "
                f"pillar, and up to {self.pillars.count.max} pillars; deploy it with a larger export.level_options"
            )
