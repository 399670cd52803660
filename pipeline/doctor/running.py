"""A file is run once: in ONNX Runtime, or in onnx's ReferenceEvaluator where it has operators of its own domain."""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from numpy.typing import NDArray

from rewriters.checks.onnxruntime_runs import run_once
from rewriters.symbolic.kernels import custom_nodes, reference_evaluator
from zoo.errors import ExportError


def has_custom_operators(model: onnx.ModelProto) -> bool:
    """Whether it has nodes that ONNX Runtime does not know by itself."""
    own = {function.domain for function in model.functions}
    return any(node.domain not in own for node in custom_nodes(model))


def run_file(model: onnx.ModelProto, feed: Mapping[str, NDArray[Any]], names: Sequence[str] | None = None) -> list[Any]:
    """The outputs of those names, or all. Raises ExportError with the reason, or for an operator without a kernel."""
    if not has_custom_operators(model):
        return run_once(model.SerializeToString(), feed, names, threads=1)
    evaluator = reference_evaluator(model)
    try:
        outputs: list[Any] = list(evaluator.run(None if names is None else list(names), dict(feed)))
    except Exception as error:  # a kernel is anybody's code
        raise ExportError(f"onnx's ReferenceEvaluator fails on the exported graph: {error}") from error
    return outputs
