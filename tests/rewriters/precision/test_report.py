"""What a file computes in: its layers by dtype."""

import onnx
import pytest

from rewriters.precision.report import computing_nodes
from tests.rewriters.graph_rewriters.graphs import model

QUANTIZED = """q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)  w = DequantizeLinear(k, s, z)"""
INTEGERS = "<float s = {0.1}, int8 z = {0}, int8[2, 2] k = {1, 2, 3, 4}, float[2, 2] f = {1, 2, 3, 4}>"


def graph(body: str) -> onnx.ModelProto:
    return model(f"g (float[2, 2] x) => (float[2, 2] y) {INTEGERS} {{ {body} }}")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = MatMul(x, f)  y = Relu(a)", {"float32": 1}),
        ("h = Cast<to = 10>(x)  a = MatMul(h, h)  y = Cast<to = 1>(a)", {"float16": 1}),
        ("h = Cast<to = 11>(x)  a = MatMul(h, h)  y = Cast<to = 1>(a)", {"float64": 1}),
        (f"{QUANTIZED}  a = MatMul(d, w)  y = MatMul(a, f)", {"int8": 1, "float32": 1}),
        (f"{QUANTIZED}  y = MatMul(x, w)", {"float32": 1}),
        ("y = Relu(x)", {}),
    ],
)
def test_layers_by_dtype(body: str, expected: dict[str, int]) -> None:
    assert computing_nodes(graph(body)) == expected


def test_branches_count() -> None:
    before = model(
        """g (float[2, 2] x, bool c) => (float[2, 2] y) {
        y = If(c) <then_branch = t () => (float[2, 2] p) { p = MatMul(x, x) },
                   else_branch = e () => (float[2, 2] q) { o = MatMul(x, x)  q = MatMul(o, x) }> }"""
    )
    assert computing_nodes(before) == {"float32": 3}
