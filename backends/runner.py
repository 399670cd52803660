"""One built model: named arrays in, named arrays out."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType, TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from backends.graph_settings import graph_defaults
from backends.input_check import InputCheck
from zoo.errors import InputError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

Array = NDArray[Any]


class Runner(ABC):
    """Runs one built model. A context manager; threads may share it, if its backend is `concurrent`.

    `inputs` and `outputs` name the tensors, in the model's order. `axes` holds the bounds of the dynamic axes that the
    inputs' shapes name; an axis without bounds takes any size from 1. `defaults`: of inputs of one element that
    may be left out.
    Subclasses write `_run`, which gets arrays that have been checked, and `_release`.
    """

    def __init__(
        self,
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec],
        axes: Mapping[str, AxisRange] | None = None,
        defaults: Mapping[str, float] | None = None,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.axes: Mapping[str, AxisRange] = MappingProxyType(dict(axes or {}))
        self._check = InputCheck(self.inputs, self.axes)
        self.defaults: Mapping[str, Array] = MappingProxyType(graph_defaults(self.inputs, defaults or {}))
        self._closed = False

    def run(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """All outputs by name, for all inputs by name; those with defaults may be left out.

        The inputs are read only during the call. They are neither changed nor kept, so their buffers can be reused at
        once. The outputs are new arrays that belong to the caller. Inputs that are not C-contiguous are copied first.
        Raises InputError if an input is missing, unknown, or of the wrong dtype, rank or size, and after close.
        """
        self._refuse_closed()
        outputs = self._run(self._check({**self.defaults, **arrays}))
        return {spec.name: array for spec, array in zip(self.outputs, outputs, strict=True)}

    def run_float32(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """As `run`, with float32 in and out also where the model's own inputs and outputs are float16."""
        halves = {spec.name for spec in self.inputs if spec.dtype == "float16"}
        cast = {name: array.astype(np.float16) if name in halves else array for name, array in arrays.items()}
        return in_float32(self.run(cast))

    def check_shape(self, name: str, shape: Sequence[int]) -> None:
        """Raise InputError, as `run` would, unless an array of this shape would do for the input `name`."""
        self._check.check_shape(name, shape)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise InputError("the runner is closed; load the deployment again")

    def close(self) -> None:
        """Give the engine's memory back. A second call does nothing; runs that are under way end in peace."""
        if not self._closed:
            self._closed = True
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        """The outputs in the order of `outputs`, as new arrays. `arrays`: every input, C-contiguous, in order."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of what the runner holds."""


class HostRunner(Runner):
    """A runner that does a part of the work on the host, and the rest by another runner, `inner`, which it owns."""

    def __init__(
        self,
        inner: Runner,
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec],
        axes: Mapping[str, AxisRange] | None = None,
    ) -> None:
        super().__init__(inputs, outputs, axes)
        self._inner = inner
        self._lock = threading.Lock()
        self._under_way = 0

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Work for which a close in between must not take the other runner away."""
        with self._lock:
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1
            if self._closed:
                self._release()

    def _release(self) -> None:
        with self._lock:
            if not self._under_way:
                self._inner.close()


def in_float32(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Those of float16 as float32, the others as they are."""
    return {name: array.astype(np.float32) if array.dtype == np.float16 else array for name, array in arrays.items()}
