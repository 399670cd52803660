"""A file is run once: in ONNX Runtime, or in onnx's ReferenceEvaluator where it has operators of its own domain."""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from numpy.typing import NDArray

from rewriters.onnx_graph.custom_nodes import custom_nodes
from rewriters.onnx_graph.graph_outputs import run_once
from rewriters.symbolic.kernels import run_with_kernels


def run_graph(
    model: onnx.ModelProto, feed: Mapping[str, NDArray[Any]], names: Sequence[str] | None = None
) -> list[Any]:
    """The outputs of those names, or all. Raises ExportError with the reason, or for an operator without a kernel."""
    if custom_nodes(model):
        return run_with_kernels(model, feed, names)
    return run_once(model.SerializeToString(), feed, names, threads=1)
