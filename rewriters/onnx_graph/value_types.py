"""What is known of the values of a graph before it runs."""

import onnx

from zoo.errors import ExportError


def value_types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """The type of every value of the main graph that is declared, or follows: dtype, and shape as far as known."""
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except onnx.shape_inference.InferenceError as error:
        raise ExportError(f"the shapes of the graph contradict each other: {str(error).splitlines()[0]}") from error
    types = {value.name: value.type for value in (*graph.input, *graph.value_info, *graph.output)}
    for tensor in graph.initializer:
        types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    return types
