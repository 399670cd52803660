"""Points put into pillars on the host: what the file of such a deployment is and takes."""

import json
from dataclasses import replace
from typing import Any, ClassVar

from numpy.typing import NDArray
from torch import nn

from backends.voxeliser import voxelised
from pipeline.export.host_part import Arrays, HostPart
from pipeline.job.job import Job
from zoo.input_kinds.points import NUM_POINTS, POINTS
from zoo.input_kinds.points.kind import CELLS
from zoo.pillars import AXIS, Pillars
from zoo.target import BATCH, Target

METADATA = "zooport.pillars"
"""Of a file that takes pillars: how the points are put into them."""


class PillarsOnHost(HostPart):
    """``pillars``: how the points are put into them. The job's target has the level of the file."""

    gives_outputs: ClassVar[bool] = True
    content: ClassVar[tuple[str, ...]] = (CELLS.name,)

    def __init__(self, job: Job, model: nn.Module, pillars: Pillars) -> None:
        module = job.contract(model)
        super().__init__(module, job.target.level, module.unused_rewriters)
        self.pillars = pillars

    @property
    def fields(self) -> dict[str, Any]:
        """See Manifest."""
        return {"pillars": self.pillars}

    @property
    def metadata(self) -> dict[str, str]:
        """The file's own level, and the pillars."""
        pillars = json.dumps(self.pillars.to_dict(), sort_keys=True)
        return {"zooport.output_level": self.level, METADATA: pillars}

    def file_target(self, target: Target) -> Target:
        """Of as many clouds, and of their pillars."""
        return replace(target, axes={BATCH: target.batch, AXIS: self.pillars.count})

    def file_arrays(self, arrays: Arrays) -> dict[str, NDArray[Any]]:
        """Voxels, counts and cells."""
        return voxelised(arrays[POINTS.name], arrays[NUM_POINTS.name], self.pillars).arrays
