"""What is known of the values of a graph before it runs."""

from math import prod

import onnx

from zoo.errors import ExportError

MOST_OF_A_SHAPE = 1024
"""Elements; a larger tensor holds weights, whose numbers no shape follows from."""


def value_types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """The type of every value of the main graph that is declared, or follows: dtype, and shape as far as known."""
    try:
        graph = onnx.shape_inference.infer_shapes(_without_weights(model), data_prop=True).graph
    except onnx.shape_inference.InferenceError as error:
        raise ExportError(f"the shapes of the graph contradict each other: {str(error).splitlines()[0]}") from error
    types = {value.name: value.type for value in (*graph.input, *graph.value_info, *graph.output)}
    for tensor in graph.initializer:
        types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    return types


def byte_size(kind: onnx.TypeProto | None) -> int | None:
    """Of a tensor, or None where that is not known."""
    if kind is None or not kind.tensor_type.HasField("shape"):
        return None
    dims = kind.tensor_type.shape.dim
    if not kind.tensor_type.elem_type or not all(dim.HasField("dim_value") for dim in dims):
        return None
    item = onnx.helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type).itemsize
    return int(prod(dim.dim_value for dim in dims) * item)


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model as shape inference needs it, which serializes and parses all that it is given."""
    graph = model.graph
    light = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    light.graph.CopyFrom(
        onnx.GraphProto(
            name=graph.name, node=graph.node, input=graph.input, output=graph.output, value_info=graph.value_info
        )
    )
    for tensor in graph.initializer:
        if prod(tensor.dims) <= MOST_OF_A_SHAPE:
            light.graph.initializer.append(tensor)
        else:
            light.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    return light
