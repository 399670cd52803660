"""The tensors that a module gives for one input."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zoo.tasks.result import Result, frozen_array


@dataclass(frozen=True, eq=False, repr=False)
class TensorsResult(Result, Mapping[str, NDArray[Any]]):
    """The module's outputs by name, without the batch axis: a read-only mapping, `result["embedding"]`.

    In the frame of the module's input, not of the image: `geometry` says where the image is in that. float16 arrays
    become float32.
    """

    tensors: Mapping[str, NDArray[Any]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tensors", {name: _frozen(array) for name, array in self.tensors.items()})

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The outputs by name."""
        return dict(self.tensors)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`."""
        return cls(arrays)

    @property
    def names(self) -> dict[int, str]:
        """The name of each output, by its place in what the module gives."""
        return dict(enumerate(self.tensors))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    return frozen_array(array, np.float32 if array.dtype == np.float16 else None)
