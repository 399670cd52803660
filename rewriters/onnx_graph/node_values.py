"""The outputs of one node whose inputs are constants, computed by ONNX Runtime."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
import onnx
from onnx import TensorProto, TypeProto, numpy_helper

from rewriters.onnx_graph.graph_outputs import run_once
from rewriters.onnx_graph.opset import STANDARD
from rewriters.onnx_graph.scopes import subgraphs
from rewriters.onnx_graph.value_types import byte_size
from zoo.errors import ExportError

NUMBERS = "biuf"  # NumPy's kinds
IR_VERSION = 10  # has all that an operator can need; the newest may be newer than ONNX Runtime


def node_values(
    model: onnx.ModelProto, node: onnx.NodeProto, inputs: Sequence[TensorProto], max_bytes: int
) -> dict[str, TensorProto] | None:
    """Its outputs by name, or None: ONNX Runtime does not run it, they are no tensors of numbers, or too large.

    Too large: by more than `max_bytes` above the node and its inputs. Mostly that is seen before it runs; what cannot
    be foreseen is not run where it is a loop.
    """
    single = _single(model, node, inputs)
    limit = max_bytes + node.ByteSize() + sum(tensor.ByteSize() for tensor in inputs)
    types = _output_types(single)
    sizes = [byte_size(types.get(name)) for name in node.output if name]
    if sum(size or 0 for size in sizes) > limit or (None in sizes and any(True for _ in subgraphs(node))):
        return None
    try:
        values = run_once(single.SerializeToString(), {}, threads=1)
    except ExportError:
        return None
    names = [output.name for output in single.graph.output]
    arrays = {name: value for name, value in zip(names, values, strict=True) if isinstance(value, np.ndarray)}
    arrays = {name: array for name, array in arrays.items() if array.dtype.kind in NUMBERS}
    tensors = {name: numpy_helper.from_array(array, name) for name, array in arrays.items()}
    declared = all(types[name].tensor_type.elem_type in (0, tensor.data_type) for name, tensor in tensors.items())
    whole = len(tensors) == len(names) and declared
    return tensors if whole and sum(tensor.ByteSize() for tensor in tensors.values()) <= limit else None


def _single(model: onnx.ModelProto, node: onnx.NodeProto, inputs: Sequence[TensorProto]) -> onnx.ModelProto:
    """A model of the one node."""
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", [], outputs, inputs)
    opsets = [entry for entry in model.opset_import if entry.domain in STANDARD]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def _output_types(single: onnx.ModelProto) -> Mapping[str, TypeProto]:
    with suppress(onnx.shape_inference.InferenceError):
        single = onnx.shape_inference.infer_shapes(single, data_prop=True)
    return {value.name: value.type for value in single.graph.output}
