"""A deployment as a Python model of NVIDIA's Triton: what the generated model.py imports. It runs in Triton's stub.

Tensors cross by DLPack alone: with numpy 2, `as_numpy` of some versions of the stub gives wrong bytes without an error.
"""

import ctypes
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.loading import load
from backends.serving.protocol import DEPLOYMENT, FILE, manifest_content, read_content
from zoo.errors import InputError

TAKEN = b"used_dltensor"
"""What DLPack calls a capsule that somebody has taken. Triton calls it otherwise, and numpy writes a traceback into the
log for each tensor."""
FOLDER = "deployment"  # beside model.py
THREADS = "threads"  # a parameter of config.pbtxt
Settings = tuple[tuple[str, float], ...]
_rename_capsule = ctypes.pythonapi.PyCapsule_SetName
_rename_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]


class TritonPythonModel:
    """Triton's interface. A bad request is answered with 400 and one line; the others of its batch are not affected."""

    def initialize(self, arguments: Mapping[str, str]) -> None:
        """Load the deployment. Triton makes the first call, with the file in the folder warmup."""
        import triton_python_backend_utils as triton  # which only the stub has

        self._triton = triton
        parameters = json.loads(arguments["model_config"])["parameters"]
        folder = Path(arguments["model_repository"], arguments["model_version"], FOLDER)
        self._model = load(folder, threads=int(parameters[THREADS]["string_value"]))

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """A response for each request, in order. Requests with the same settings are computed together."""
        responses: dict[int, Any] = {}
        groups: dict[Settings, list[int]] = {}
        values: dict[int, Any] = {}
        for place, request in enumerate(requests):
            if set(request.requested_output_names()) == {DEPLOYMENT}:
                responses[place] = self._response({}, [DEPLOYMENT])
                continue
            try:
                values[place] = read_content(self._model.task.kind, self._array(request, FILE).tobytes())
            except InputError as error:
                responses[place] = self._refusal(error)
                continue
            groups.setdefault(self._settings(request), []).append(place)
        for settings, places in groups.items():
            for place, answer in self._answers(places, values, dict(settings)):
                names = requests[place].requested_output_names()
                is_refused = isinstance(answer, InputError)
                responses[place] = self._refusal(answer) if is_refused else self._response(answer.arrays, names)
        return [responses[place] for place in range(len(requests))]

    def finalize(self) -> None:
        """The end of the stub."""
        self._model.close()

    def _answers(
        self, places: Sequence[int], values: Mapping[int, Any], settings: dict[str, float]
    ) -> Iterator[tuple[int, Any]]:
        """The result of each, or why the model refuses it; one by one where it refuses one of them."""
        try:
            yield from zip(places, self._model([values[place] for place in places], **settings), strict=True)
        except InputError as error:
            if len(places) == 1:
                yield places[0], error
                return
            for place in places:
                yield from self._answers([place], values, settings)

    def _settings(self, request: Any) -> Settings:
        """Those inputs with defaults that a request has."""
        arrays = {
            name: self._array(request, name)
            for name in self._model.runner.defaults
            if self._triton.get_input_tensor_by_name(request, name) is not None
        }
        return tuple((name, array.item()) for name, array in arrays.items())

    def _array(self, request: Any, name: str) -> NDArray[Any]:
        return np.from_dlpack(self._triton.get_input_tensor_by_name(request, name))

    def _response(self, arrays: Mapping[str, NDArray[Any]], names: Sequence[str]) -> Any:
        """Those outputs that were asked for."""
        described = np.frombuffer(manifest_content(self._model.manifest), np.uint8)
        outputs = {**arrays, DEPLOYMENT: described}
        return self._triton.InferenceResponse([self._tensor(name, outputs[name][np.newaxis]) for name in names])

    def _tensor(self, name: str, array: NDArray[Any]) -> Any:
        capsule = _contiguous(array).__dlpack__()
        tensor = self._triton.Tensor.from_dlpack(name, capsule)
        _rename_capsule(capsule, TAKEN)
        return tensor

    def _refusal(self, error: InputError) -> Any:
        return self._triton.InferenceResponse(
            error=self._triton.TritonError(str(error), self._triton.TritonError.INVALID_ARG)
        )


def _contiguous(array: NDArray[Any]) -> NDArray[Any]:
    """A copy, since DLPack takes no read-only array. One without elements has the strides that Triton expects of it."""
    copy = array.copy()
    if copy.size:
        return copy
    sides = np.array([*array.shape[1:], 1])
    strides = array.itemsize * np.cumprod(sides[::-1])[::-1]
    return np.lib.stride_tricks.as_strided(copy, strides=strides.tolist())
