"""What ONNX Runtime computes of a graph, without optimisations, on the CPU."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import onnxruntime
from numpy.typing import NDArray

from zoo.errors import ExportError


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
