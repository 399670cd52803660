"""Nodes that give back what they get, and the names of outputs."""

import pytest

from tests.rewriters.graph_rewriters.graphs import model, ops, rewritten


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("{ a = Identity(x)  b = Relu(a)  y = Identity(b) }", ["Relu"]),
        ("{ y = Identity(x) }", ["Identity"]),
        ("{ a = Identity(x)  y = Identity(a) }", ["Identity"]),
        ("<float[1] w = {1}> { y = Identity(w) }", ["Identity"]),
        ("<float[1] w = {1}> { v = Identity(w)  y = Add(x, v) }", ["Add"]),
        ("{ a = Cast<to = 1>(x)  b = Cast<to = 11>(a)  y = Cast<to = 1>(b) }", ["Cast", "Cast"]),
        ("{ a = Transpose<perm = [0]>(x)  y = Neg(a) }", ["Neg"]),
        ("{ a = Concat<axis = 0>(x)  y = Neg(a) }", ["Neg"]),
        ("{ a = Dropout(x)  y = Neg(a) }", ["Neg"]),
        ("<float r = {0.5}, bool t = {0}> { a = Dropout(x, r, t)  y = Neg(a) }", ["Neg"]),
        ("<float r = {0.5}, bool t = {1}> { a = Dropout(x, r, t)  y = Neg(a) }", ["Dropout", "Neg"]),
        ("{ a, m = Dropout(x)  n = Cast<to = 1>(m)  b = Add(a, n)  y = Neg(b) }", ["Dropout", "Cast", "Add", "Neg"]),
    ],
)
def test_what_goes_and_what_stays(body: str, left: list[str]) -> None:
    random = "bool t = {1}" in body
    after, _ = rewritten(model(f"g (float[n] x) => (float[k] y) {body}"), "drop_identities", same=not random)
    assert ops(after) == left


def test_only_identity() -> None:
    before = model("g (float[n] x) => (float[n] y) { a = Identity(x)  b = Cast<to = 1>(a)  y = Neg(b) }")
    after, changes = rewritten(before, {"name": "drop_identities", "only_identity": True})
    assert (ops(after), changes) == (["Cast", "Neg"], ["dropped Identity a"])


def test_one_value_under_two_outputs() -> None:
    before = model("g (float[n] x) => (float[n] y, float[n] z) { a = Relu(x)  y = Identity(a)  z = Identity(a) }")
    after, _ = rewritten(before, "drop_identities")
    assert ops(after) == ["Relu", "Identity"]
    assert list(after.graph.node[0].output) == ["y"]


def test_what_branches_read() -> None:
    before = model(
        """g (float[n] x) => (float[n] y) <float zero = {0}> {
        a = Relu(x)  i = Identity(a)  m = ReduceMax<keepdims = 0>(x)  c = Greater(m, zero)
        z = If(c) <then_branch = t () => (float[n] p) { q = Identity(i)  r = Identity(q)  p = Identity(r) },
                   else_branch = e () => (float[n] s) { u = Neg(i)  s = Identity(u) }>
        y = Identity(z) }"""
    )
    after, _ = rewritten(before, "drop_identities")
    assert ops(after) == ["Relu", "ReduceMax", "Greater", "If", "Identity", "Neg"]
    then = after.graph.node[3].attribute[0].g
    assert (then.node[0].input[0], then.output[0].name) == ("a", "p")


def test_states_of_a_loop() -> None:
    """From an input of the body directly to its output."""
    before = model(
        """g (float[2] x, int64 n) => (float[2] y) <bool go = {1}> {
        y = Loop(n, go, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t)
            { d = Identity(c)  u = Add(s, s)  t = Identity(u) }> }"""
    )
    after, _ = rewritten(before, "drop_identities")
    assert ops(after) == ["Loop", "Identity", "Add"]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("{ d = Identity(c)  u = Add(a, x)  t = Neg(u) }", ["Identity", "Add", "Neg"]),
        ("{ d = Identity(c)  u = Cast<to = 1>(i)  v = Add(a, u)  t = Neg(v) }", ["Identity", "Cast", "Add", "Neg"]),
    ],
)
def test_names_of_a_body_hide_those_around(body: str, left: list[str]) -> None:
    before = model(
        f"""g (float[2] x) => (float[2] y) <bool go = {{1}}, int64 n = {{2}}> {{
        a = Identity(x)  i = Neg(a)
        y = Loop(n, go, i) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] t) {body}> }}"""
    )
    after, _ = rewritten(before, "drop_identities")
    assert ops(after) == ["Neg", "Loop", *left]


def test_metadata_and_custom_nodes() -> None:
    before = model(
        """g (float[n] x) => (float[n] y) <float[n] a, float[n] p>
        { a = Identity(x)  p = my.Plugin(a)  y = Identity(p) }""",
        more=', "my" : 3',
    )
    before.graph.node[1].metadata_props.add(key="namespace", value="head")
    after, _ = rewritten(before, "drop_identities")
    (node,) = after.graph.node
    assert (node.op_type, node.metadata_props[0].value, list(node.output)) == ("Plugin", "head", ["y"])
    assert not after.graph.value_info
