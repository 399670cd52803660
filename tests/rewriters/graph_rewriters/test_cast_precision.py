"""fp16: what is computed in it, what stays, and that it runs."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from rewriters.checks.same_numbers import compare_graphs
from rewriters.onnx_graph.module_paths import MODULE
from tests.rewriters.graph_rewriters.graphs import model, ops, rewritten
from zoo.errors import ExportError, InputError

FP16 = "cast_precision"


def dtypes(after: onnx.ModelProto) -> dict[str, str]:
    inferred = onnx.shape_inference.infer_shapes(after, strict_mode=True).graph
    values = [*inferred.input, *inferred.output, *inferred.value_info]
    found = {value.name: TensorProto.DataType.Name(value.type.tensor_type.elem_type) for value in values}
    return found | {tensor.name: TensorProto.DataType.Name(tensor.data_type) for tensor in inferred.initializer}


def cast(before: onnx.ModelProto, **options: Any) -> tuple[onnx.ModelProto, list[str]]:
    """After the proof that it runs, and computes nearly the same."""
    after, changes = rewritten(before, {"name": FP16, "everywhere": True, **options}, same=False)
    assert compare_graphs(before, after).difference < 5e-3
    return after, changes


def test_weights_and_arithmetic_are_fp16_and_the_ends_are_not() -> None:
    before = model("g (float[n, 2] x) => (float[n, 2] y) { a = MatMul(x, w)  y = Relu(a) }", w=[[1, 2], [3, 4]])
    after, changes = cast(before)
    assert ops(after) == ["Cast", "MatMul", "Relu", "Cast"]
    assert {name: kind for name, kind in dtypes(after).items() if kind == "FLOAT"} == {"x": "FLOAT", "y": "FLOAT"}
    assert [tensor.name for tensor in after.graph.initializer] == ["w_fp16"]
    assert changes == ["MatMul a computes in fp16", "Relu y computes in fp16"]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (["Relu"], ["Cast", "MatMul", "Cast", "Relu"]),
        (["head_*"], ["MatMul", "Cast", "Relu", "Cast"]),
    ],
)
def test_what_the_user_keeps(keep: list[str], expected: list[str]) -> None:
    body = "{ [head_mm] a = MatMul(x, w)  [act] y = Relu(a) }"
    before = model(f"g (float[n, 2] x) => (float[n, 2] y) {body}", w=[[1, 2], [3, 4]])
    assert ops(cast(before, keep=keep)[0]) == expected


@pytest.mark.parametrize(
    ("number", "words"), [("100000", "up to 1.0e+05, beyond fp16"), ("0.000000000001", "of 1.0e-12 at most, which")]
)
def test_constants_that_fp16_cannot_hold(number: str, words: str) -> None:
    body = f"<float[1] big = {{{number}}}> {{ a = Relu(x)  b = Add(a, big)  y = Neg(b) }}"
    after, changes = cast(model(f"g (float[n] x) => (float[n] y) {body}"))
    assert ops(after)[:2] == ["Cast", "Relu"]
    assert dtypes(after)["b"] == dtypes(after)["big"] == "FLOAT"
    assert pytest.approx(float(number)) == numpy_helper.to_array(after.graph.initializer[0])[0]
    assert changes[-1].startswith(f"Add b stays fp32: big has numbers {words}")


def test_infinities_are_what_they_are() -> None:
    before = model("g (float[n] x) => (float[n] y) { y = Min(x, w) }", w=[np.inf])
    assert ops(cast(before)[0]) == ["Cast", "Min", "Cast"]


def test_what_the_standard_has_in_fp32_only() -> None:
    """The scales of a Resize; what sorts scores."""
    before = model(
        """g (float[1, 1, 4, 4] x) => (float[1, 1, 8, 8] y, int64[1, 1, 8, 2] i)
        <float[4] scales = {1, 1, 2, 2}, int64[1] k = {2}>
        { a = Relu(x)  b = Resize(a, , scales)  y = Neg(b)  v, i = TopK(b, k) }"""
    )
    after, _ = cast(before)
    assert dtypes(after)["scales"] == "FLOAT"
    assert dtypes(after)["b_fp16"] == "FLOAT16"
    assert dtypes(after)["v"] == "FLOAT"
    assert sum(op == "Cast" for op in ops(after)) == 3


def test_branches_stay_as_they_are() -> None:
    before = model(
        """g (float[n] x) => (float[n] y) <float zero = {0}> {
        a = Relu(x)  m = ReduceMax<keepdims = 0>(a)  c = Greater(m, zero)
        z = If(c) <then_branch = t () => (float[n] p) { p = Neg(a) }, else_branch = e () => (float[n] q) { q = Exp(a) }>
        y = Neg(z) }"""
    )
    after, _ = cast(before)
    (choice,) = (node for node in after.graph.node if node.op_type == "If")
    assert choice.attribute[0].g.node[0].input[0] == "a"
    assert dtypes(after)["a"] == "FLOAT"
    assert dtypes(after)["m_fp16"] == dtypes(after)["z_fp16"] == "FLOAT16"


def test_custom_nodes_get_fp32() -> None:
    before = model(
        "g (float[n] x) => (float[n] y) <float[n] p> { a = Relu(x)  p = my.Plugin(a)  y = Neg(p) }", more=', "my" : 1'
    )
    after, _ = rewritten(before, {"name": FP16, "everywhere": True}, same=False)
    assert ops(after) == ["Cast", "Relu", "Cast", "Plugin", "Cast", "Neg", "Cast"]


def test_constants_that_are_nodes_and_sizes_that_are_not_cast() -> None:
    before = model(
        """g (float[n, 2] x) => (float[n, 2] y, int64[2] s)
        { t = Constant<value_floats = [1.0, 2.0]>()  s = Shape(x)  y = Add(x, t) }"""
    )
    after, _ = cast(before)
    assert ops(after) == ["Shape", "Cast", "Add", "Cast"]


def test_names_that_are_taken() -> None:
    before = model("g (float[n] x) => (float[n] y, float[n] x_fp16) { y = Relu(x)  x_fp16 = Neg(x) }")
    after, _ = cast(before)
    assert {output.name for output in after.graph.output} == {"y", "x_fp16"}


def test_metadata_of_nodes_stays() -> None:
    before = model("g (float[n] x) => (float[n] y) { y = Relu(x) }")
    before.graph.node[0].metadata_props.add(key="namespace", value="head")
    assert cast(before)[0].graph.node[1].metadata_props[0].value == "head"


def test_refusals() -> None:
    before = model("g (float[n] x) => (float[n] y) { y = Relu(x) }")
    with pytest.raises(InputError, match='precision is "int8", expected "fp16"'):
        rewritten(before, {"name": FP16, "precision": "int8"})
    with pytest.raises(ExportError, match='keep: no node is or is named "Relo"; nearest: "Relu"'):
        rewritten(before, {"name": FP16, "keep": ["Relo"]})


def test_a_large_constant_behind_another_operator_is_seen() -> None:
    text = "g (float[4] x) => (float[4] y) <int64[1] axis = {0}, float large = {1000000}>"
    before = model(f"{text} {{ c = Unsqueeze(large, axis)  y = Mul(x, c) }}")
    after, _ = rewritten(before, {"name": FP16, "everywhere": True}, same=False)
    assert "Cast" not in ops(after)


def test_networks_alone_and_modules_that_stay() -> None:
    """Without `everywhere`: not what is after the last layer; of the layers not those of a named module."""
    before = model(
        "g (float[n, 2] x) => (float[n, 2] y) { a = MatMul(x, w)  b = MatMul(a, w)  y = Relu(b) }", w=[[1, 2], [3, 4]]
    )
    before.graph.node[1].metadata_props.add(key=MODULE, value="head.fc")
    assert ops(cast(before, everywhere=False)[0]) == ["Cast", "MatMul", "MatMul", "Cast", "Relu"]
    after, _ = cast(before, everywhere=False, keep_fp32=["head"])
    assert ops(after) == ["Cast", "MatMul", "Cast", "MatMul", "Relu"]
    with pytest.raises(ExportError, match='keep_fp32: no node is of a module "heat"; nearest: "head"'):
        rewritten(before, {"name": FP16, "keep_fp32": ["heat"]})
