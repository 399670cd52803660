"""The file must load in ONNX Runtime, which refuses some of what the exporters write, and give the declared shapes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from zoo.errors import ExportError
from zoo.tensor_spec import TensorSpec


def check_onnxruntime_runs(
    content: bytes, example: Mapping[str, NDArray[Any]], output_specs: Sequence[TensorSpec]
) -> None:
    """Run the example once, without optimisations. Raises ExportError with ONNX Runtime's reason, or for a shape."""
    outputs = run_once(content, example, [spec.name for spec in output_specs])
    for spec, output in zip(output_specs, map(np.asarray, outputs), strict=True):
        sizes = zip(spec.shape, output.shape, strict=False)
        if len(spec.shape) != output.ndim or any(isinstance(want, int) and want != got for want, got in sizes):
            raise ExportError(
                f"output {spec.name} has the shape {list(output.shape)} in ONNX Runtime, "
                f"the contract asks for {list(spec.shape)}"
            )


def run_once(
    content: bytes,
    feed: Mapping[str, NDArray[Any]],
    names: Sequence[str] | None = None,
    threads: int = 0,
    libraries: Sequence[str] = (),
) -> list[Any]:
    """The outputs of those names, or all, without optimisations on the CPU; `threads` 0: as many as it has cores.

    `libraries`: paths of those that hold custom operators.
    Raises ExportError with ONNX Runtime's reason.
    """
    (outputs,) = run_all(content, [feed], names, threads, libraries)
    return outputs


def run_all(
    content: bytes,
    feeds: Iterable[Mapping[str, NDArray[Any]]],
    names: Sequence[str] | None = None,
    threads: int = 0,
    libraries: Sequence[str] = (),
) -> Iterator[list[Any]]:
    """The outputs of one feed after the other, as run_once gives them, by one session."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for library in libraries:
        options.register_custom_ops_library(library)
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        for feed in feeds:
            yield session.run(names, dict(feed))
    except Exception as error:  # onnxruntime raises classes of its own, all of them direct children of Exception
        raise ExportError(f"ONNX Runtime {onnxruntime.__version__} refuses the exported graph: {error}") from error
