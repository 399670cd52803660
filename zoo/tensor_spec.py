"""The name, type and shape of one tensor that a model takes or gives (torch-free)."""

from typing import NamedTuple


class TensorSpec(NamedTuple):
    """One input or output of a graph. Immutable, hashable, equal by value.

    `dtype` is numpy's name ("float32", "int64", "uint8" ...). Each item of `shape` is a fixed size or the name of a
    dynamic axis ("N"); one name means one size, in every tensor of the graph.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    @property
    def axes(self) -> dict[int, str]:
        """The dynamic axes: place -> name."""
        return {place: side for place, side in enumerate(self.shape) if isinstance(side, str)}

    def __str__(self) -> str:
        return f"{self.name} {self.dtype} [{', '.join(map(str, self.shape))}]"
