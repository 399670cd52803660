"""Stands in for Triton's stub: the module that only it has, with tensors that cross by DLPack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np


class Tensor:
    """A tensor of a request or response."""

    def __init__(self, name: str, array: np.ndarray) -> None:
        self.name = name
        self.array = array

    @classmethod
    def from_dlpack(cls, name: str, capsule: Any) -> "Tensor":
        class Holder:  # numpy takes no bare capsule
            def __dlpack__(self, **_: Any) -> Any:
                return capsule

            def __dlpack_device__(self) -> tuple[int, int]:
                return (1, 0)

        return cls(name, np.from_dlpack(Holder()).copy())

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def as_numpy(self) -> np.ndarray:
        raise AssertionError("as_numpy gives wrong bytes with numpy 2")


class TritonError(Exception):
    INVALID_ARG = 3

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class InferenceResponse:
    tensors: Sequence[Tensor] = ()
    error: TritonError | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        assert self.error is None, self.error
        return {tensor.name: tensor.array for tensor in self.tensors}


@dataclass
class Request:
    inputs: Mapping[str, np.ndarray]
    outputs: Sequence[str] = field(default_factory=list)

    def requested_output_names(self) -> Sequence[str]:
        return self.outputs


def module() -> ModuleType:
    """triton_python_backend_utils."""

    def get_input_tensor_by_name(request: Request, name: str) -> Tensor | None:
        array = request.inputs.get(name)
        return None if array is None else Tensor(name, array)

    made = ModuleType("triton_python_backend_utils")
    made.__dict__.update(
        Tensor=Tensor,
        TritonError=TritonError,
        InferenceResponse=InferenceResponse,
        get_input_tensor_by_name=get_input_tensor_by_name,
    )
    return made
