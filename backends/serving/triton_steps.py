"""The steps before and behind the graph, as Python models of NVIDIA's Triton: an ensemble's first and last.

Tensors of the graph have the graph's names behind GRAPH, since a result's arrays may have the same names.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from backends.calls import Calls
from backends.runner import Array, Runner
from backends.serving.protocol import DEPLOYMENT, FILE, manifest_content, read_content
from backends.serving.triton_files import FIRST_CALL
from backends.serving.triton_model import deployment_folder
from backends.serving.triton_tensors import FAULTS, TritonTensors
from zoo.manifest import Manifest

GRAPH = "graph_"
GEOMETRY = "geometry"
"""Where the input is in the graph's tensor: int64 [1, n], see InputKind.geometry_numbers. n is 0 without an input."""


class Step:
    """Triton's interface, one request at a time. Reads the manifest alone: the graph is another model's."""

    def initialize(self, arguments: Mapping[str, str]) -> None:
        """Read the manifest beside model.py."""
        self.tensors = TritonTensors()
        self.manifest = Manifest.read(deployment_folder(arguments))
        self.task = self.manifest.build_task()

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """A response for each request, in order. A bad one is 400 and one line; the others are not affected."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        try:
            return self.tensors.response(self.outputs(request))
        except FAULTS as error:
            return self.tensors.refusal(error)

    def outputs(self, request: Any) -> Mapping[str, Array]:
        """The arrays of the answer. Raises InputError."""
        raise NotImplementedError


class Preprocessing(Step):
    """The content of a file -> what the graph is given for it, and where the input is in it; and the manifest.

    An ensemble asks for all of these even if its client asks for the manifest alone, and then sends an empty file. So
    an empty file is not refused here: the graph is given the input of the first call, and no geometry marks it for
    `Postprocessing`, which refuses it.
    """

    def initialize(self, arguments: Mapping[str, str]) -> None:
        """Also the rules of the graph's inputs, and the file of the first call."""
        super().initialize(arguments)
        self.calls = graph_calls(self.manifest)
        content = Path(arguments["model_repository"], FIRST_CALL, FILE).read_bytes()
        self.first = preprocessed(self.calls, read_content(self.task.kind, np.frombuffer(content, np.uint8)), {})

    def outputs(self, request: Any) -> Mapping[str, Array]:
        """The requested ones."""
        names = set(request.requested_output_names())
        content = self.tensors.array(request, FILE)
        if content is None or not content.size:
            arrays = {**self.first, GEOMETRY: np.zeros((1, 0), np.int64)}
        else:
            settings = self.tensors.settings(request, tuple(self.manifest.defaults))
            arrays = preprocessed(self.calls, read_content(self.task.kind, content), settings)
        arrays[DEPLOYMENT] = np.frombuffer(manifest_content(self.manifest), np.uint8)[np.newaxis]
        return {name: array for name, array in arrays.items() if name in names}


class Postprocessing(Step):
    """What the graph gives, and where the input is in its tensor -> the result."""

    def outputs(self, request: Any) -> Mapping[str, Array]:
        """The arrays of the result, each with a batch axis of 1. Raises InputError if there was no file."""
        numbers = self.tensors.array(request, GEOMETRY)
        assert numbers is not None, "an ensemble gives each step all its inputs"
        if not numbers.size:
            read_content(self.task.kind, None)  # raises
        outputs: dict[str, Array] = {}
        for spec in self.manifest.outputs:
            array = self.tensors.array(request, GRAPH + spec.name)
            assert array is not None
            array = array.reshape(array.shape[: len(spec.shape)])  # Triton adds an axis to one of the batch alone
            outputs[spec.name] = array.astype(np.float32) if array.dtype == np.float16 else array
        (result,) = self.task.results(outputs, [self.task.kind.geometry_of(numbers[0])])
        names = set(request.requested_output_names())
        return {name: array[np.newaxis] for name, array in result.arrays.items() if name in names}


def graph_calls(manifest: Manifest) -> Calls:
    """The calls of a graph that runs elsewhere."""
    return Calls(manifest.name, manifest.build_task(), manifest.preprocess, _GraphElsewhere(manifest))


def preprocessed(calls: Calls, value: Any, settings: Mapping[str, float]) -> dict[str, Array]:
    """What the preprocessing of an input gives. Raises InputError as a call does."""
    arrays, geometry = calls.feeds(value, **settings)
    graph = {GRAPH + spec.name: arrays[spec.name].astype(spec.dtype, copy=False) for spec in calls.runner.inputs}
    return {**graph, GEOMETRY: calls.task.kind.geometry_numbers(geometry)[np.newaxis]}


class _GraphElsewhere(Runner):
    """Knows what a graph takes, and does not run it."""

    def __init__(self, manifest: Manifest) -> None:
        super().__init__(manifest.inputs, manifest.outputs, manifest.axes, manifest.defaults)

    def _run(self, arrays: Mapping[str, Array]) -> NoReturn:
        raise AssertionError(f"another model runs this graph: {', '.join(arrays)}")

    def _release(self) -> None:
        """It holds nothing."""
