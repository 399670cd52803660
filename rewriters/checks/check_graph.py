"""All checks of an exported graph, in the order of what they cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from numpy.typing import NDArray

from rewriters.checks.local_paths import check_local_paths
from rewriters.checks.reachability import check_reachability
from rewriters.checks.runtime_runs import check_runs
from rewriters.onnx_graph.custom_nodes import custom_nodes
from rewriters.onnx_graph.opset import opset_of
from rewriters.plugins import plugin_nodes
from rewriters.symbolic.kernels import run_with_kernels
from zoo.errors import ExportError
from zoo.target import Target
from zoo.tensor_spec import TensorSpec

PROTOBUF_LIMIT = 2**31 - 1  # bytes; above it weights would have to lie in a second file


def check_graph(
    model: onnx.ModelProto,
    target: Target,
    example: Mapping[str, NDArray[Any]],
    output_specs: Sequence[TensorSpec],
) -> bytes:
    """The content of its file. `example`: the inputs by name, to run the graph once.

    Raises ExportError at the first check that fails, InputError for a local path in the metadata.
    """
    opset = opset_of(model)
    if opset != target.opset:
        raise ExportError(f"asked for opset {target.opset}, the exporter wrote {opset}; give --opset {opset}")
    check_reachability(model, list(example))
    stored = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    # above the limit protobuf itself fails, each version with other words
    content: bytes = b"" if stored > PROTOBUF_LIMIT else model.SerializeToString(deterministic=True)
    if (size := max(stored, len(content))) > PROTOBUF_LIMIT:
        raise ExportError(f"the model has {size} bytes; files above {PROTOBUF_LIMIT} are not supported")
    try:
        onnx.checker.check_model(content, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(f"onnx.checker refuses the exported graph: {str(error).splitlines()[0]}") from error
    check_local_paths(content, {entry.key: entry.value for entry in model.metadata_props})
    if plugin_nodes(model):  # those only an engine runs, or our reference implementation
        return content
    if custom_nodes(model):  # ONNX Runtime knows them by a library of theirs alone
        run_with_kernels(model, example)
    else:
        check_runs(content, example, output_specs)
    return content
