"""The forms of the pairs, as ONNX Runtime fuses them; and the order of nodes, as TensorRT's parser wants it."""

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from rewriters.precision import to_int8
from rewriters.precision.sort_nodes import sort_nodes
from zoo.precision_options import PrecisionOptions


def net(body: str, convolutions: int) -> onnx.ModelProto:
    """Nodes in ONNX's text form that read `images` and weights w0, w1 ..., all of 4 channels, and give `result`."""
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> g (float[1, 4, 8, 8] images) => (float[1, 4, 8, 8] result) '
        f"{{ {body} }}"
    )
    chance = np.random.default_rng(0)
    for number in range(convolutions):
        weight = chance.standard_normal((4, 4, 1, 1)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, f"w{number}"))
        bias = chance.standard_normal(4).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(bias, f"b{number}"))
    return model


NETS = {
    "residual": (
        "a = Conv(images, w0, b0) r = Relu(a) c = Conv(r, w1, b1) s = Add(c, r) t = Relu(s) result = Conv(t, w2, b2)",
        3,
        {"QLinearConv": 3, "QLinearAdd": 1},
    ),
    "two readers of floats": (
        "t = Tanh(images) a = Conv(t, w0, b0) c = Conv(t, w1, b1) result = Mul(a, c)",
        2,
        {"QLinearConv": 2},
    ),
    "SiLU": (
        (
            "a = Conv(images, w0, b0) s = Sigmoid(a) m = Mul(a, s) c = Conv(m, w1, b1) t = Sigmoid(c) n = Mul(c, t) "
            "r = Add(n, m) result = Conv(r, w2, b2)"
        ),
        3,
        {"QLinearConv": 3, "QLinearSigmoid": 2, "QLinearMul": 2, "QLinearAdd": 1, "Mul": 0, "QuickGelu": 0},
    ),
    "a gate that another layer computes": (
        "a = Conv(images, w0, b0) g = Conv(images, w1, b1) s = Sigmoid(g) m = Mul(s, a) result = Conv(m, w2, b2)",
        3,
        {"QLinearConv": 3, "QLinearSigmoid": 1, "QLinearMul": 1},
    ),
    "negative numbers with several readers": (
        "a = Conv(images, w0, b0) c = Conv(a, w1, b1) s = Add(a, c) d = Conv(s, w2, b2) result = Add(d, s)",
        3,
        {"QLinearConv": 3, "QLinearAdd": 1},
    ),
    "floats behind a layer": (
        "a = Conv(images, w0, b0) t = Tanh(a) u = Neg(a) v = Add(t, u) result = Conv(v, w1, b1)",
        2,
        {"QLinearConv": 2, "QLinearAdd": 0},
    ),
    "a Relu that no layer reads": (
        "a = Conv(images, w0, b0) r = Relu(a) t = Tanh(r) result = Neg(t)",
        1,
        {"QLinearConv": 1},
    ),
    "boxes by a Sigmoid": (
        "a = Conv(images, w0, b0) s = Sigmoid(a) t = Exp(s) u = Mul(s, t) c = Conv(s, w1, b1) result = Add(c, u)",
        2,
        {"QLinearConv": 2, "QLinearSigmoid": 0, "QLinearMul": 0},
    ),
}


@pytest.mark.parametrize("kind", NETS)
def test_onnxruntime_computes_every_layer_in_int8(kind: str, tmp_path: Path) -> None:
    body, convolutions, expected = NETS[kind]
    feeds = [{"images": np.random.default_rng(1).standard_normal((1, 4, 8, 8)).astype(np.float32)}]
    made, _ = to_int8(net(body, convolutions), PrecisionOptions(), feeds)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = Counter(node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node)
    assert {name: found[name] for name in (*expected, "Conv", "Relu")} == {**expected, "Conv": 0, "Relu": 0}


def test_what_a_loop_reads_stands_before_it() -> None:
    inner = helper.make_graph(
        [helper.make_node("Identity", ["keep_in"], ["keep"]), helper.make_node("Add", ["carried", "outer"], ["sum"])],
        "body",
        [
            helper.make_tensor_value_info("number", TensorProto.INT64, []),
            helper.make_tensor_value_info("keep_in", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried", TensorProto.FLOAT, [1]),
        ],
        [
            helper.make_tensor_value_info("keep", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, [1]),
        ],
    )
    nodes = [
        helper.make_node("Loop", ["times", "", "x"], ["y"], body=inner),
        helper.make_node("Neg", ["x"], ["outer"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
        [numpy_helper.from_array(np.array(3, np.int64), "times")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    sort_nodes(model)
    assert [node.op_type for node in model.graph.node] == ["Neg", "Loop"]
    onnx.checker.check_model(model)
