"""The one check of the arrays that go into a runner."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError, nearest
from zoo.input_kinds import kind_of_inputs
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec


class Described(Protocol):
    """A tensor of which this much is known, wherever it lies."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """numpy's."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""


class InputCheck:
    """Checks named arrays against the specs of a graph's inputs and the bounds of its dynamic axes."""

    def __init__(self, specs: Sequence[TensorSpec], axes: Mapping[str, AxisRange]) -> None:
        self._specs = tuple((spec, np.dtype(spec.dtype)) for spec in specs)
        self._names = frozenset(spec.name for spec in specs)
        self._axes = axes
        self._kind = kind_of_inputs(self._names)

    def __call__(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The arrays in the order of the specs, C-contiguous (copied only where they are not).

        Raises InputError for a missing or unknown name, a wrong dtype or rank, a fixed side of another size, a dynamic
        one out of its bounds, one axis name with two sizes, and values that the input kind refuses, such as
        `image_sizes` beyond the `images`.
        """
        if arrays.keys() != self._names:
            self._refuse_names(arrays)
        for spec, _ in self._specs:
            if not isinstance(arrays[spec.name], np.ndarray):
                kind = type(arrays[spec.name]).__name__
                raise InputError(f'input "{spec.name}": got {kind}, expected a numpy array: {spec}')
        self.check_described(arrays)
        checked = {spec.name: _contiguous(spec.name, arrays[spec.name]) for spec, _ in self._specs}
        if self._kind is not None:
            self._kind.check_arrays(checked)
        return checked

    def check_described(self, tensors: Mapping[str, Described]) -> None:
        """The same of tensors that need not lie on the host: all but their values."""
        if tensors.keys() != self._names:
            self._refuse_names(tensors)
        sizes: dict[str, tuple[int, str]] = {}
        for spec, dtype in self._specs:
            tensor = tensors[spec.name]
            if tensor.dtype != dtype:
                raise InputError(
                    f'input "{spec.name}": got dtype {tensor.dtype}, expected {spec.dtype}; convert it with '
                    f'.astype("{spec.dtype}")'
                )
            self._check_shape(spec, tensor.shape, sizes)

    def check_shape(self, name: str, shape: Sequence[int]) -> None:
        """Raises InputError unless an array of this shape would do for the input `name`."""
        self._check_shape(next(spec for spec, _ in self._specs if spec.name == name), shape, {})

    def _check_shape(self, spec: TensorSpec, shape: Sequence[int], sizes: dict[str, tuple[int, str]]) -> None:
        if len(shape) != len(spec.shape):
            raise InputError(_where(spec, shape))
        for index, (size, side) in enumerate(zip(shape, spec.shape, strict=True)):
            if size != side:
                self._check_side(spec, shape, index, sizes)

    def _check_side(
        self, spec: TensorSpec, shape: Sequence[int], index: int, sizes: dict[str, tuple[int, str]]
    ) -> None:
        side, size = spec.shape[index], shape[index]
        if isinstance(side, int):
            raise InputError(f"{_where(spec, shape)}; axis {index} must be {side}")
        bounds = self._axes.get(side)
        if size < 1 or (bounds is not None and size not in bounds):
            allowed = f"{bounds.min} to {bounds.max}" if bounds is not None else "1 or more"
            raise InputError(
                f"{_where(spec, shape)}; axis {side} must be {allowed}: split or resize the input, or deploy with "
                "wider bounds (--dynamic)"
            )
        first = sizes.setdefault(side, (size, spec.name))
        if first[0] != size:
            raise InputError(
                f'{_where(spec, shape)}; axis {side} is {first[0]} in input "{first[1]}" and must be the same here'
            )

    def _refuse_names(self, arrays: Mapping[str, Described]) -> None:
        for name in arrays:
            if name not in self._names:
                raise InputError(f'unknown input "{name}"; {nearest(str(name), self._names)}')
        missing = [spec for spec, _ in self._specs if spec.name not in arrays]
        raise InputError(f'no input "{missing[0].name}"; give {", ".join(str(spec) for spec, _ in self._specs)}')


def _contiguous(name: str, array: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.ascontiguousarray(array) if array.ndim else np.asarray(array)  # the former gives a scalar an axis
    except MemoryError as error:
        raise InputError(
            f'input "{name}": {array.dtype} {list(array.shape)} needs a copy of {array.nbytes} bytes, and there is no '
            "memory for it; give a smaller array, or one that is C-contiguous"
        ) from error


def _where(spec: TensorSpec, shape: Sequence[int]) -> str:
    return f'input "{spec.name}": got shape {list(shape)}, expected [{", ".join(map(str, spec.shape))}]'
