"""Arrays to and from Triton's Python stub, which crosses process borders for a Python model.

They cross by DLPack alone: with numpy 2, `as_numpy` of some versions of the stub gives wrong bytes without an error.
"""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.runtime_errors import OF_RUNTIME, reason
from backends.serving.protocol import read_setting
from zoo.errors import InputError

Array = NDArray[Any]
FAULTS = (InputError, *OF_RUNTIME)
"""What is answered as the fault of one input. Triton would answer all requests of the batch with 500."""
TAKEN = b"used_dltensor"
"""What DLPack calls a capsule that somebody has taken. Triton calls it otherwise, and numpy writes a traceback into the
log for each tensor."""
_rename_capsule = ctypes.pythonapi.PyCapsule_SetName
_rename_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]


class TritonTensors:
    """What a Python model needs of `triton_python_backend_utils`, a module that only the stub has."""

    def __init__(self) -> None:
        import triton_python_backend_utils as triton

        self._triton = triton

    def array(self, request: Any, name: str) -> Array | None:
        """An input of a request, in the request's memory. None if it was left out."""
        tensor = self._triton.get_input_tensor_by_name(request, name)
        return None if tensor is None else np.from_dlpack(tensor)

    def settings(self, request: Any, names: Sequence[str]) -> dict[str, float]:
        """The numbers of those optional inputs that a request has. Raises InputError."""
        arrays = {name: self.array(request, name) for name in names}
        return {name: read_setting(name, array) for name, array in arrays.items() if array is not None}

    def response(self, arrays: Mapping[str, Array]) -> Any:
        """A response with these outputs."""
        return self._triton.InferenceResponse([self._tensor(name, array) for name, array in arrays.items()])

    def refusal(self, error: Exception) -> Any:
        """A response with one line instead of outputs: 400. `error`: one of FAULTS."""
        return self._triton.InferenceResponse(
            error=self._triton.TritonError(reason(error), self._triton.TritonError.INVALID_ARG)
        )

    def _tensor(self, name: str, array: Array) -> Any:
        capsule = _contiguous(array).__dlpack__()
        tensor = self._triton.Tensor.from_dlpack(name, capsule)
        _rename_capsule(capsule, TAKEN)
        return tensor


def _contiguous(array: Array) -> Array:
    """A copy, since DLPack takes no read-only array. One without elements has the strides that Triton expects of it."""
    copy = array.copy()
    if copy.size:
        return copy
    sides = np.array([*array.shape[1:], 1])
    strides = array.itemsize * np.cumprod(sides[::-1])[::-1]
    return np.lib.stride_tricks.as_strided(copy, strides=strides.tolist())
