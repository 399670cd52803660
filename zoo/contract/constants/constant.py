"""What a constant of a graph is."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Array = NDArray[Any]


@dataclass(frozen=True)
class Read:
    """``value`` is what nodes of one of these ``operators`` read: as a whole where it is an array.

    A number may be one of the few that a node reads. ``count``: so many times at least.
    """

    operators: tuple[str, ...]
    value: Array
    count: int = 1


@dataclass(frozen=True)
class Attributes:
    """A node of this ``operator`` has these attributes."""

    operator: str
    values: Mapping[str, Any]


Form = tuple[Read | Attributes, ...]


@dataclass(frozen=True)
class Constant:
    """One constant of the model: all that one of its ``forms`` asks for must be in the graph.

    ``name``: as a person calls it. ``module``: the path of the PyTorch module whose nodes read it, "" for the model.
    ``parts``: names of the pieces of an array and their numbers of rows, for messages.
    """

    name: str
    module: str
    forms: tuple[Form, ...]
    parts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Case:
    """What is compared. ``level``: of the outputs; ``shape`` of the images.

    ``fixed``: whether the images have one height and width, and fill them: the graph knows its numbers of rows then.

    ``outputs(modules)`` runs the unpatched model on the case's images and gives what these modules of it gave, by name.
    """

    level: str
    fixed: bool
    shape: tuple[int, ...]
    outputs: Callable[[Mapping[str, nn.Module]], dict[str, Any]]


def constant(name: str, module: str, value: Any, *operators: str, count: int = 1) -> Constant:
    """Of one form: a number or an array that nodes of these operators read."""
    return Constant(name, module, ((Read(operators, as_array(value), count),),))


def as_array(value: Any) -> Array:
    """A tensor, numbers or a number, as NumPy has it."""
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def normalization(module: str, mean: Sequence[float] | Tensor, std: Sequence[float] | Tensor) -> Iterator[Constant]:
    """Mean and standard deviation of the channels."""
    yield constant("image mean", module, as_array(mean).ravel().astype(np.float32), "Sub")
    yield constant("image standard deviation", module, as_array(std).ravel().astype(np.float32), "Div")
