"""What the backend does on the host, in a deployment whose file does not take what the deployment takes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.precision.calibration import Calibration
from zoo.input_kinds import InputKind
from zoo.target import AxisRange, Target
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

Arrays = Mapping[str, NDArray[Any]]


class HostPart(ABC):
    """The file is `module`, exported for `file_target`; the backend makes its inputs of those of the deployment.

    ``level``: of the file. ``unused_rewriters``: of the config, those that are for a file without such a part.
    """

    gives_outputs: ClassVar[bool]
    """Whether what the file gives is what the deployment gives."""
    content: ClassVar[tuple[str, ...]] = ()
    """Inputs of the file beside the first that say what is where, and not how much there is."""

    def __init__(self, module: Contract, level: str, unused_rewriters: Sequence[str]) -> None:
        self.module, self.level, self.unused_rewriters = module, level, tuple(unused_rewriters)

    @property
    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Of the manifest."""

    @property
    @abstractmethod
    def metadata(self) -> dict[str, str]:
        """Of the file."""

    @abstractmethod
    def file_target(self, target: Target) -> Target:
        """With the axes of the file's inputs."""

    @abstractmethod
    def file_arrays(self, arrays: Arrays) -> dict[str, NDArray[Any]]:
        """The file's inputs by name, made of the deployment's."""

    def file_outputs(self, specs: Sequence[TensorSpec]) -> Sequence[TensorSpec]:
        """What the file gives in a deployment that gives these."""
        return specs

    def file_example(self, example: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What the file is exported with."""
        arrays = {name: tensor.numpy() for name, tensor in example.items()}
        return {name: torch.from_numpy(array) for name, array in self.file_arrays(arrays).items()}

    def file_axes(self, target: Target) -> dict[str, AxisRange]:
        """The bounds of the dynamic axes of the file's inputs."""
        return dynamic_axes(self.file_target(target))

    def calibration(self, whole: Calibration) -> Calibration:
        """Of the file."""
        return replace(whole, feeds=[self.file_arrays(feed) for feed in whole.feeds])

    def required(self, rewriters: Sequence[str | Mapping[str, Any]]) -> list[str | Mapping[str, Any]]:
        """Those of the config's rewriters that must act on the file."""
        return [
            entry
            for entry in rewriters
            if (entry if isinstance(entry, str) else entry["name"]) not in self.unused_rewriters
        ]


def dynamic_axes(target: Target) -> dict[str, AxisRange]:
    """The axes of a target that vary."""
    return {axis: target.axes[axis] for axis in target.dynamic_axes}


def deployment_inputs(kind: InputKind, target: Target) -> tuple[TensorSpec, ...]:
    """What a deployment takes, whatever its file does."""
    fixed = {axis: bounds.opt for axis, bounds in target.axes.items() if not bounds.dynamic}
    return tuple(
        spec._replace(shape=tuple(fixed.get(side, side) if isinstance(side, str) else side for side in spec.shape))
        for spec in kind.specs(image_sizes=target.image_sizes)
    )
