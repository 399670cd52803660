"""The runner of OpenVINO."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino

from backends.agreed_specs import agreed_specs
from backends.openvino.compiling import Settings, version
from backends.runner import Array, Runner
from zoo.errors import ExportError, InputError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec


class OpenVINORunner(Runner):
    """Runs a compiled model. Threads may share it.

    Each run has an inference request to itself; there are as many as threads run at the same time.

    ``path``: the file's, for messages. Without ``inputs`` and ``outputs`` they are the model's own.
    Raises InputError where the given tensors are not those of the file.
    """

    def __init__(
        self,
        path: Path,
        model: openvino.CompiledModel,
        settings: Settings,
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | None = None,
        axes: Mapping[str, AxisRange] | None = None,
        *,
        defaults: Mapping[str, float] | None = None,
    ) -> None:
        self.path = path
        self.settings = settings
        self._model: openvino.CompiledModel | None = model
        self._idle: list[openvino.InferRequest] = []
        self._lock = threading.Lock()
        super().__init__(
            agreed_specs(path, "input", _specs(model.inputs, inputs), inputs),
            agreed_specs(path, "output", _specs(model.outputs, outputs), outputs),
            axes,
            defaults,
        )

    @property
    def layers(self) -> Sequence[Any]:
        """The nodes of the graph that is executed."""
        return list(self._open().get_runtime_model().get_ordered_ops())

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        model = self._open()
        with self._lock:
            request = self._idle.pop() if self._idle else None
        request = request or model.create_infer_request()
        try:
            results = request.infer(dict(arrays), share_inputs=True, share_outputs=False)
        except RuntimeError as error:
            shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
            reason = " ".join(str(error).split())
            raise ExportError(f"{self.path}: OpenVINO {version()} stopped at inputs {shapes}: {reason}") from error
        request._inputs_data = None  # noqa: SLF001 - with which it would keep the caller's arrays until its next run
        outputs = [np.asarray(results[spec.name]) for spec in self.outputs]
        with self._lock:
            if self._model is not None:
                self._idle.append(request)
        return outputs

    def _open(self) -> openvino.CompiledModel:
        model = self._model
        if model is None:
            raise InputError("the runner is closed; load the deployment again")
        return model

    def _release(self) -> None:
        with self._lock:
            self._model = None
            self._idle.clear()


def _specs(ports: Iterable[Any], expected: Sequence[TensorSpec] | None) -> list[TensorSpec]:
    """Of inputs or outputs. One that OpenVINO joined with a neighbour has several names: the expected one counts, or
    that of its node, which an input has in the file.
    """
    names = {spec.name for spec in expected or ()}
    return [_spec(port, min(names & port.get_names(), default=_usual_name(port))) for port in ports]


def _usual_name(port: Any) -> str:
    node: str = port.get_node().get_friendly_name()
    name: str = node if node in port.get_names() else port.get_any_name()
    return name


def _spec(port: Any, name: str) -> TensorSpec:
    """Of an input or output; an axis that varies is named after it and the axis."""
    shape = port.get_partial_shape()
    if shape.rank.is_dynamic:
        return TensorSpec(name, port.get_element_type().to_dtype().name, ())
    sides = (f"{name}_{axis}" if side.is_dynamic else side.get_length() for axis, side in enumerate(shape))
    return TensorSpec(name, port.get_element_type().to_dtype().name, tuple(sides))
