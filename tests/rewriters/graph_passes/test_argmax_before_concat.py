"""ArgMax of pieces: the same labels, ties included, and only where nothing else reads the whole."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from rewriters.graph_passes.argmax_before_concat import argmax_before_concat
from rewriters.graph_passes.marks import marks

SIDES = (3, 1, 5)


def joined(axis: int, over: int, *, keepdims: int = 0, whole_is_an_output: bool = False) -> onnx.ModelProto:
    """Three pieces [2, 4, ...] that differ along `axis`, and the best of them over `over`."""
    shapes = [[2, 4, 6, 7] for _ in SIDES]
    for shape, side in zip(shapes, SIDES, strict=True):
        shape[axis] = side
    names = [f"piece_{index}" for index in range(len(SIDES))]
    nodes = [
        helper.make_node("Concat", names, ["whole"], "concat", axis=axis),
        helper.make_node("ArgMax", ["whole"], ["labels"], "argmax", axis=over, keepdims=keepdims),
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, shapes, strict=True)]
    outputs = [helper.make_tensor_value_info("labels", TensorProto.INT64, [None] * (3 + keepdims))]
    if whole_is_an_output:
        outputs.append(helper.make_tensor_value_info("whole", TensorProto.FLOAT, [None] * 4))
    graph = helper.make_graph(nodes, "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def labels(model: onnx.ModelProto) -> np.ndarray:
    """For whole numbers from 0 to 2, so that many are equal: the lowest label wins."""
    generator = np.random.default_rng(0)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {value.name: generator.integers(0, 3, value.shape).astype(np.float32) for value in session.get_inputs()}
    found: np.ndarray = session.run(["labels"], feed)[0]
    return found


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize(("axis", "over"), [(2, 1), (3, 1), (0, 1), (1, 3)])
def test_the_labels_are_the_same(axis: int, over: int, keepdims: int) -> None:
    model = joined(axis, over, keepdims=keepdims)
    expected = labels(model)
    assert argmax_before_concat(model) == 1
    onnx.checker.check_model(model)
    assert model.graph.node[-1].op_type == "Concat"
    np.testing.assert_array_equal(labels(model), expected)


def test_a_mark_stays_on_the_labels() -> None:
    model = joined(2, 1)
    model.graph.node[1].metadata_props.add(key="zooport.mark.0", value='["best"]')
    assert argmax_before_concat(model) == 1
    assert list(marks(model.graph)) == [("best", "labels")]


@pytest.mark.parametrize(
    "model",
    [joined(1, 1), joined(2, -3), joined(2, 1, whole_is_an_output=True)],
    ids=["the same axis", "an axis from the end", "the whole is an output"],
)
def test_other_graphs_stay_as_they_are(model: onnx.ModelProto) -> None:
    before = model.SerializeToString()
    assert argmax_before_concat(model) == 0
    assert model.SerializeToString() == before
