"""The runner of ONNX Runtime."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import onnxruntime

from backends.agreed_specs import agreed_specs
from backends.engine_options import EngineOptions
from backends.onnxruntime.held_model import HeldModel
from backends.onnxruntime.session import open_session
from backends.profiles import batch_axis, profiles
from backends.runner import Array, Runner
from zoo.errors import ExportError, InputError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

DTYPES = {"float": "float32", "float16": "float16", "double": "float64", "bool": "bool"} | {
    name: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


class OnnxRuntimeRunner(Runner):
    """Runs an ONNX file in ONNX Runtime. Threads may share it: a session's run lets go of Python's lock.

    `model`: the file, by its path or held open.

    Without `inputs` and `outputs` they are read from the file. `provider`: "cpu", "cuda", "cuda:1", "tensorrt",
    "tensorrt-rtx", or ONNX Runtime's own name. `engine`: how the latter two build, for shapes in the bounds of `axes`;
    `cache`: a folder where they keep engines. `threads`: of the session, None for the CPUs that this process may use.
    `in_floats`: without kernels of whole numbers, `spin`: how long threads look for work, `shared`: whether several
    threads call it at the same time, see session_options; it has no effect where more than the batch is dynamic.
    Outputs on the CPU are memory that ONNX Runtime hands over without a copy; nothing of it is used again.
    Raises as open_session does, and InputError where the given tensors are not those of the file.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | HeldModel,
        inputs: Iterable[TensorSpec] | None = None,
        outputs: Iterable[TensorSpec] | None = None,
        axes: Mapping[str, AxisRange] | None = None,
        *,
        defaults: Mapping[str, float] | None = None,
        provider: str = "cpu",
        threads: int | None = None,
        engine: EngineOptions | None = None,
        cache: str | None = None,
        in_floats: bool = False,
        spin: bool = True,
        shared: bool = False,
    ) -> None:
        held = model if isinstance(model, HeldModel) else Path(model)
        self.path = held.path if isinstance(held, HeldModel) else held
        inputs = None if inputs is None else tuple(inputs)
        bounded = inputs is not None and all(
            isinstance(side, int) or side in (axes or {}) for spec in inputs for side in spec.shape
        )
        profile = profiles(inputs, axes or {})[0] if inputs is not None and bounded else None
        shared = shared and inputs is not None and _only_batches(inputs)
        session = open_session(
            held, provider, threads, engine, profile, cache, in_floats=in_floats, spin=spin, shared=shared
        )
        self._session: onnxruntime.InferenceSession | None = session
        self.provider: str = session.get_providers()[0]
        self.threads: int = session.get_session_options().intra_op_num_threads
        nodes = [*session.get_inputs(), *session.get_overridable_initializers()]
        super().__init__(
            agreed_specs(self.path, "input", map(_spec, nodes), inputs),
            agreed_specs(self.path, "output", map(_spec, session.get_outputs()), outputs),
            axes,
            defaults,
        )
        self._output_names = [spec.name for spec in self.outputs]

    @property
    def metadata(self) -> dict[str, str]:
        """What the file says of itself, its metadata_props."""
        return dict(self._open().get_modelmeta().custom_metadata_map)

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        session = self._open()
        try:
            outputs: list[Array] = session.run(self._output_names, arrays)
        except Exception as error:  # ONNX Runtime's errors have no base of their own
            shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
            reason = " ".join(str(error).split())
            raise ExportError(f"{self.path}: ONNX Runtime stopped at inputs {shapes}: {reason}") from error
        return outputs

    def _open(self) -> onnxruntime.InferenceSession:
        session = self._session
        if session is None:
            raise InputError("the runner is closed; load the deployment again")
        return session

    def _release(self) -> None:
        self._session = None


def _only_batches(inputs: Sequence[TensorSpec]) -> bool:
    """Whether no axis is dynamic but the batch."""
    dynamic = {side for spec in inputs for side in spec.shape if isinstance(side, str)}
    return dynamic <= {batch_axis(inputs)}


def _spec(node: onnxruntime.NodeArg) -> TensorSpec:
    element = node.type.removeprefix("tensor(").removesuffix(")")
    shape = tuple(
        side if isinstance(side, int) else side or f"{node.name}_{axis}" for axis, side in enumerate(node.shape)
    )
    return TensorSpec(node.name, DTYPES.get(element, element), shape)
