"""Another layout of a family's outputs than the zoo's own: what other tools read."""

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray
from torch import nn

from zoo.target import AxisRange, Target
from zoo.tasks.contract import Contract


class Layout:
    """The outputs of one level, laid out in another way. A family has it in `layouts`, by its name."""

    contract: ClassVar[type[Contract]]
    level: ClassVar[str]
    """The output level whose tensors it has. A deploy that asks for the layout gets this level."""
    outputs: ClassVar[tuple[str, ...]]
    """The names of the outputs, which no other contract has: they show the layout of a deployment."""

    def default_axes(self, sides: Mapping[str, AxisRange]) -> Mapping[str, AxisRange]:  # noqa: ARG002 - layouts use it
        """The axes that are not as in the config if the caller asks for nothing else. `sides`: those of the target."""
        return {}

    def check(self, target: Target) -> None:
        """Raises InputError for a target whose level or axes the layout does not fit."""

    def metadata(self, model: nn.Module, target: Target) -> Mapping[str, str]:  # noqa: ARG002 - layouts use them
        """What the other tools read in the metadata of the file, beside what every file has."""
        return {}

    def level_outputs(self, outputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The outputs by the names that `level` has, for the comparison."""
        raise NotImplementedError
