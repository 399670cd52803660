"""Types are inferred without the numbers of weights, and as they are with them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from rewriters.onnx_graph.value_types import MOST_OF_A_SHAPE, value_types

WEIGHTS = np.zeros((4, MOST_OF_A_SHAPE), np.float32)


def of_a_convolution() -> onnx.ModelProto:
    """A convolution, and a Reshape to a shape that is computed from a constant."""
    nodes = [
        helper.make_node("Reshape", ["weights", "shape"], ["kernel"]),
        helper.make_node("Conv", ["images", "kernel"], ["maps"]),
        helper.make_node("Mul", ["rows", "two"], ["sizes"]),
        helper.make_node("Reshape", ["maps", "sizes"], ["out"]),
    ]
    constants = [
        numpy_helper.from_array(WEIGHTS, "weights"),
        numpy_helper.from_array(np.array([4, 4, 16, 16], np.int64), "shape"),
        numpy_helper.from_array(np.array([1, 2], np.int64), "rows"),
        numpy_helper.from_array(np.array([2, 2], np.int64), "two"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 4, 16, 17])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def test_types_follow_without_the_weights() -> None:
    model = of_a_convolution()
    before = model.SerializeToString(deterministic=True)
    types = value_types(model)
    shapes = {name: [dim.dim_value for dim in kind.tensor_type.shape.dim] for name, kind in types.items()}
    assert shapes["maps"] == [1, 4, 1, 2]
    assert shapes["out"] == [2, 4]
    assert shapes["weights"] == list(WEIGHTS.shape)
    assert model.SerializeToString(deterministic=True) == before


def test_types_are_those_of_the_whole_model() -> None:
    model = of_a_convolution()
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    types = value_types(model)
    for value in (*inferred.input, *inferred.value_info, *inferred.output):
        assert types[value.name] == value.type
