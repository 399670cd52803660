"""Folding: what is constant, and nothing else."""

import numpy as np
import pytest
from onnx import numpy_helper

from tests.rewriters.graph_rewriters.graphs import model, ops, rewritten
from zoo.errors import InputError

CHAIN = """g (float[batch, 3] x) => (float[batch, 3] y) <float[3] w = {1, 2, 3}>
    { two = Constant<value_float = 2.0>()  w2 = Mul(w, two)  w3 = Neg(w2)  y = Add(x, w3) }"""


def test_a_chain_becomes_one_initializer() -> None:
    after, changes = rewritten(model(CHAIN), "fold_constants")
    assert ops(after) == ["Add"]
    (initializer,) = after.graph.initializer
    assert (initializer.name, numpy_helper.to_array(initializer).tolist()) == ("w3", [-2, -4, -6])
    assert changes[1] == "folded Mul w2 into w2 [3]"
    assert changes[-1] == "dropped 3 nodes and initializers that nothing reads"


@pytest.mark.parametrize(
    "body",
    [
        "{ r = RandomNormal<shape = [3]>()  y = Add(x, r) }",
        "{ n = Neg(d)  y = Add(x, n) }",  # d has a default, and is an input
        """<float[3] w = {1, 2, 3}, float s = {0.5}, int8 o = {0}>
        { q = QuantizeLinear(w, s, o)  f = DequantizeLinear(q, s, o) y = Add(x, f) }""",
    ],
    ids=["random numbers", "a default", "quantisation"],
)
def test_what_stays(body: str) -> None:
    head = "g (float[batch, 3] x" + (", float[3] d = {1, 2, 3}" if "Neg(d)" in body else "")
    before = model(f"{head}) => (float[batch, 3] y) {body}")
    after, changes = rewritten(before, "fold_constants", same="Random" not in body)
    assert not changes
    assert after == before


def test_float_constants_among_whole_numbers() -> None:
    """onnx-graphsurgeon 0.6.1 folds this to a product with 0."""
    body = "{ a = Cast<to = 1>(x)  b = Mul(a, half)  y = Cast<to = 7>(b) }"
    after, changes = rewritten(model(f"g (int64[n] x) => (int64[n] y) <float half = {{0.5}}> {body}"), "fold_constants")
    assert (ops(after), changes) == (["Cast", "Mul", "Cast"], [])


def test_static_axes_of_a_dynamic_shape() -> None:
    """Height and width are known, the batch is not."""
    before = model(
        """g (float[batch, 3, 8, 6] x) => (float[batch, 3, 48] y, int64[1] size)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] end = {9}, int64[1] rest = {-1}>
        { s = Shape(x)  b = Gather<axis = 0>(s, zero)  c = Slice(s, one, two)  hw = Slice(s, two, end)
          p = ReduceProd(hw)  to = Concat<axis = 0>(b, c, p)  y = Reshape(x, to)  size = Shape<start = -1>(x) }"""
    )
    after, _ = rewritten(before, "fold_constants")
    assert ops(after) == ["Shape", "Gather", "Concat", "Reshape", "Constant"]
    constants = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in after.graph.initializer}
    assert constants == {"zero": [0], "c": [3], "p": [48]}


def test_unknown_axes_are_never_indices() -> None:
    """A Slice that starts at an unknown axis would be cut to what is there."""
    before = model(
        """g (float[batch] x) => (int64[k] y) <int64[3] w = {1, 2, 3}, int64[1] end = {3}>
        { s = Shape(x)  i = Identity(s)  y = Slice(w, i, end) }"""
    )
    after, _ = rewritten(before, "fold_constants")
    assert ops(after) == ["Shape", "Identity", "Slice"]


@pytest.mark.parametrize(("limit", "left"), [(3000, ["Expand", "Add"]), (5000, ["Add"])])
def test_files_do_not_blow_up(limit: int, left: list[str]) -> None:
    before = model(
        """g (float[n, 1000] x) => (float[n, 1000] y) <float[1] w = {1}, int64[1] many = {1000}>
        { e = Expand(w, many)  y = Add(x, e) }"""
    )
    after, _ = rewritten(before, {"name": "fold_constants", "max_bytes": limit})
    assert ops(after) == left


def test_what_would_not_fit_into_memory_is_not_tried() -> None:
    before = model(
        """g (float[1] x) => (float[k] y) <int64[2] many = {100000000, 100000000}, float[1] w = {1}>
        { e = Expand(w, many)  m = ReduceMax<keepdims = 0>(e)  y = Add(x, m) }"""
    )
    after, changes = rewritten(before, "fold_constants", same=False)
    assert (ops(after), changes) == (["Expand", "ReduceMax", "Add"], [])


def test_large_weights_are_turned_whatever_the_limit() -> None:
    graph = "g (float[n, 4] x) => (float[n, 3] y) { t = Transpose(w)  y = MatMul(x, t) }"
    before = model(graph, w=np.ones((3, 4)).tolist())
    after, _ = rewritten(before, {"name": "fold_constants", "max_bytes": 0})
    assert ops(after) == ["MatMul"]


def test_an_output_that_is_constant_keeps_its_name_and_its_nodes_metadata() -> None:
    before = model("g (float[n] x) => (float[n] y, float[1] k) <float[1] w = {1}> { y = Relu(x)  k = Neg(w) }")
    before.graph.node[1].metadata_props.add(key="namespace", value="head")
    after, changes = rewritten(before, "fold_constants")
    assert ops(after) == ["Relu", "Constant"]
    assert after.graph.node[1].metadata_props[0].value == "head"
    assert changes[0] == "folded Neg k into k [1]"


def test_within_branches_and_of_the_graph_around() -> None:
    before = model(
        """g (float[n] x) => (float[n] y) <float[1] w = {2}, float zero = {0}> {
        m = ReduceMax<keepdims = 0>(x)  c = Greater(m, zero)
        y = If(c) <then_branch = t () => (float[n] a) { u = Neg(w)  v = Identity(u)  a = Add(x, v) },
                   else_branch = e () => (float[1] b) { b = Neg(w) }> }"""
    )
    after, _ = rewritten(before, "fold_constants")
    assert ops(after) == ["ReduceMax", "Greater", "If", "Add", "Constant"]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("(int64 i, bool c, float[3] w) => (bool d, float[3] t) { d = Identity(c)  t = Neg(w) }", ["Identity", "Neg"]),
        (
            """(int64 i, bool c, float[3] s) => (bool d, float[3] t)
            { d = Identity(c)  v = Concat<axis = 0>(s, s)  k = Shape(v)  f = Cast<to = 1>(k)  t = Add(s, f) }""",
            ["Identity", "Concat", "Shape", "Cast", "Add"],
        ),
    ],
    ids=["a constant", "a shape that is known"],
)
def test_a_body_hides_what_is_around(body: str, left: list[str]) -> None:
    """Its names are its own, also those that a constant has, or a value of the graph around."""
    before = model(
        f"""g (float[3] x) => (float[3] z) <bool go = {{1}}, int64 n = {{2}}, float[3] w = {{5, 7, 9}}>
        {{ y = Loop(n, go, x) <body = b {body}>  v = Mul(x, w)  z = Add(y, v) }}"""
    )
    after, _ = rewritten(before, "fold_constants")
    assert ops(after) == ["Loop", "Mul", "Add", *left]


def test_custom_nodes_stay() -> None:
    before = model(
        """g (float[1] x) => (float[1] y) <float[1] w = {1}>
        { u = my.Plugin(w)  v = Neg(w)  s = Add(u, v) y = Add(x, s) }""",
        more=', "my" : 3',
    )
    after, _ = rewritten(before, "fold_constants")
    assert ops(after) == ["Plugin", "Add", "Add"]
    assert {entry.domain: entry.version for entry in after.opset_import} == {"": 20, "my": 3}


def test_a_negative_limit() -> None:
    with pytest.raises(InputError, match="max_bytes is -1, expected 0 or more"):
        rewritten(model(CHAIN), {"name": "fold_constants", "max_bytes": -1})
