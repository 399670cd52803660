"""A deployment as a Python model of NVIDIA's Triton: what the generated model.py imports. It runs in Triton's stub."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from backends.backend import CPU
from backends.loading import load
from backends.registry import get_backend
from backends.runtime_errors import without_frames
from backends.serving.protocol import DEPLOYMENT, FILE, manifest_content, read_content
from backends.serving.triton_files import FIRST_CALL
from backends.serving.triton_tensors import FAULTS, TritonTensors
from zoo.errors import InputError
from zoo.manifest import Manifest

FOLDER = "deployment"  # beside model.py
THREADS = "threads"  # a parameter of config.pbtxt
Settings = tuple[tuple[str, float], ...]


class TritonPythonModel:
    """Triton's interface. A bad request is answered with 400 and one line; the others of its batch are not affected."""

    def initialize(self, arguments: Mapping[str, str]) -> None:
        """Load the deployment. Triton makes the first call, with the file in the folder warmup."""
        self._tensors = TritonTensors()
        parameters = json.loads(arguments["model_config"])["parameters"]
        threads = int(parameters[THREADS]["string_value"])
        self._model = load(deployment_folder(arguments), provider=_provider(arguments), threads=threads)
        self._first_call = Path(arguments["model_repository"], FIRST_CALL, FILE)
        self._manifest = np.frombuffer(manifest_content(self._model.manifest), np.uint8)

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
                values[place] = read_content(self._model.task.kind, self._tensors.array(request, FILE))
                settings = self._tensors.settings(request, tuple(self._model.runner.defaults))
            except FAULTS as error:
                self._check_works(without_frames(error))
                responses[place] = self._tensors.refusal(error)
                continue
            groups.setdefault(tuple(settings.items()), []).append(place)
        for items, places in groups.items():
            for place, answer in self._answers(places, values, dict(items)):
                names = requests[place].requested_output_names()
                is_refused = isinstance(answer, Exception)
                responses[place] = self._tensors.refusal(answer) if is_refused else self._response(answer.arrays, names)
        return [responses[place] for place in range(len(requests))]

    def finalize(self) -> None:
        """The end of the stub."""
        self._model.close()

    def _answers(
        self, places: Sequence[int], values: Mapping[int, Any], settings: dict[str, float]
    ) -> Iterator[tuple[int, Any]]:
        """The result of each, or why it has none; one by one where one of them has none.

        Raises where not even the first call can be computed any more.
        """
        try:
            results = self._model([values[place] for place in places], **settings)
        except FAULTS as error:
            fault = without_frames(error)
        else:
            yield from zip(places, results, strict=True)
            return
        if len(places) > 1:
            for place in places:
                yield from self._answers([place], values, settings)
            return
        self._check_works(fault)
        yield places[0], fault

    def _check_works(self, fault: Exception) -> None:
        """Raises where not even the first call can be computed any more, after a fault that is not the input's."""
        if not isinstance(fault, InputError):
            self._model(read_content(self._model.task.kind, np.frombuffer(self._first_call.read_bytes(), np.uint8)))

    def _response(self, arrays: Mapping[str, Any], names: Collection[str]) -> Any:
        """The requested outputs, each with a batch axis, in the same order whatever process of Triton asks."""
        outputs = {**arrays, DEPLOYMENT: self._manifest}
        return self._tensors.response({name: outputs[name][np.newaxis] for name in outputs if name in names})


def _provider(arguments: Mapping[str, str]) -> str | None:
    """On the GPU that Triton gives to this process; None: as deployed."""
    manifest = Manifest.read(deployment_folder(arguments))
    backend = get_backend(manifest.backend)
    if arguments["model_instance_kind"] != "GPU" or not backend.is_on_cuda(manifest.provider):
        return None
    name, _, _ = backend.device(manifest.provider or CPU).partition(":")
    return f"{name}:{arguments['model_instance_device_id']}"


def deployment_folder(arguments: Mapping[str, str]) -> Path:
    """Beside the model.py that Triton calls with these arguments."""
    return Path(arguments["model_repository"], arguments["model_version"], FOLDER)
