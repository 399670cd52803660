"""extract_submodel: any cut of any graph, what cannot be cut, and a module as PyTorch runs it."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriters.graph_rewriters import rewrite_graph
from rewriters.onnx_graph.module_paths import module_path
from tests.examples import examples
from tests.rewriters.graph_rewriters.graphs import dims, parsed, run
from zoo.errors import ExportError, InputError

CHAIN = """
g (float[batch, 4] x, float[batch, 4] other) => (float[batch, 4] z, float[batch, 2] side)
<float[4] w = {1, 2, 3, 4}, float unused = {0}, int64[2] sizes = {2, 2}>
{
    a = Mul(x, w)
    b = Relu(a)
    c, d = Split<axis = 1>(b, sizes)
    e = Concat<axis = 1>(d, c)
    z = Add(e, other)
    side = Neg(c)
}
"""


def extract(model: onnx.ModelProto, **options: Any) -> onnx.ModelProto:
    """The piece; the same once more changes nothing."""
    step = {"name": "extract_submodel", **options}
    piece, (rewritten,) = rewrite_graph(model, [step])
    assert rewritten.changes
    again, (nothing,) = rewrite_graph(piece, [step])
    assert nothing.changes == ()
    assert again == piece
    return piece


def names(values: Any) -> list[str]:
    return [value.name for value in values]


def array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_outputs_alone_cut_from_the_graphs_inputs() -> None:
    piece = extract(parsed(CHAIN), outputs="b")
    assert [node.op_type for node in piece.graph.node] == ["Mul", "Relu"]
    assert names(piece.graph.input) == ["x"]  # the other one is not needed
    assert names(piece.graph.initializer) == ["w"]
    x = array(3, 4)
    np.testing.assert_array_equal(run(piece, {"x": x})["b"], np.maximum(x * [1, 2, 3, 4], 0).astype(np.float32))


def test_inputs_alone_cut_to_the_graphs_outputs() -> None:
    piece = extract(parsed(CHAIN), inputs=["b", "other"])
    assert names(piece.graph.input) == ["b", "other"]
    assert names(piece.graph.output) == ["z", "side"]
    b, other = array(3, 4), array(3, 4, seed=1)
    found = run(piece, {"b": b, "other": other})
    np.testing.assert_array_equal(found["z"], b[:, [2, 3, 0, 1]] + other)


def test_both_and_their_shapes() -> None:
    piece = extract(parsed(CHAIN), inputs=["a"], outputs=["e", "c"])
    assert dims(piece.graph.input) == {"a": ["batch", 4]}
    assert dims(piece.graph.output) == {"e": ["batch", 4], "c": ["batch", 2]}
    assert run(piece, {"a": array(1, 4)})["e"].shape == (1, 4)


def test_one_output_of_a_node_is_an_input_and_the_other_is_computed() -> None:
    piece = extract(parsed(CHAIN), inputs=["c", "x"], outputs=["e"])
    c, x = array(2, 2), array(2, 4)
    d = np.maximum(x * np.float32([1, 2, 3, 4]), 0)[:, 2:]
    np.testing.assert_array_equal(run(piece, {"c": c, "x": x})["e"], np.concatenate([d, c], axis=1))


def test_a_weight_may_become_an_input() -> None:
    piece = extract(parsed(CHAIN), inputs=["x", "w"], outputs=["a"])
    assert dims(piece.graph.input) == {"x": ["batch", 4], "w": [4]}
    assert not piece.graph.initializer


def test_metadata_opsets_and_the_given_model_stay() -> None:
    model = parsed(CHAIN, {"a": "backbone", "b": "backbone.act", "z": "head"})
    onnx.helper.set_model_props(model, {"zooport.task": "detection"})
    before = model.SerializeToString(deterministic=True)
    piece = extract(model, outputs="b")
    assert model.SerializeToString(deterministic=True) == before
    assert [module_path(node) for node in piece.graph.node] == ["backbone", "backbone.act"]
    assert piece.metadata_props == model.metadata_props
    assert piece.opset_import == model.opset_import
    assert piece.ir_version == model.ir_version


def test_unknown_sizes_get_names() -> None:
    model = parsed(
        "g (float[n] x) => (float[] z) { i = NonZero(x)\n k = Transpose(i)\n z = ReduceSum<keepdims = 0>(x) }"
    )
    shapes = dims(extract(model, outputs="k").graph.output)["k"]
    assert shapes[1] == 1
    assert isinstance(shapes[0], str)


BRANCHES = """
g (bool flag, float[n] x, float[n] y) => (float[n] z)
<float[1] half = {0.5}>
{
    inner = Abs(y)
    z = If (flag) <
        then_branch = yes () => (float[n] t) { t = Mul(inner, half) },
        else_branch = no () => (float[n] e) { e = Identity(x) }
    >
}
"""


def test_what_a_subgraph_reads_comes_along() -> None:
    piece = extract(parsed(BRANCHES), inputs=["flag", "inner", "x"])
    assert [node.op_type for node in piece.graph.node] == ["If"]
    assert names(piece.graph.initializer) == ["half"]
    values = {"inner": array(3), "x": array(3, seed=1)}
    np.testing.assert_array_equal(run(piece, {"flag": np.array(True), **values})["z"], values["inner"] / 2)
    np.testing.assert_array_equal(run(piece, {"flag": np.array(False), **values})["z"], values["x"])
    with pytest.raises(ExportError, match='output "z" also needs the input "x"'):
        extract(parsed(BRANCHES), inputs=["flag", "inner"])


MODULES = """
g (float[batch, 4] x) => (float[batch, 4] z, float[batch, 4] y)
<float[4] w = {1, 2, 3, 4}>
{
    k = Constant<value_float = 2.0>()
    kk = Identity(k)
    a = Mul(x, w)
    b = Add(a, kk)
    between = Neg(b)
    y = Relu(between)
    h = Mul(y, kk)
    z = Sub(h, a)
}
"""
PATHS = {"kk": "neck.bias", "a": "stem", "b": "neck.add", "y": "neck", "h": "head", "z": "head.out"}


def test_a_module() -> None:
    """Constants come along, wherever they are; a node without a path between two of the module's is one of them."""
    piece = extract(parsed(MODULES, PATHS), module="neck")
    assert names(piece.graph.input) == ["a"]
    assert names(piece.graph.output) == ["y"]  # kk is read outside, and constant
    assert [node.op_type for node in piece.graph.node] == ["Constant", "Identity", "Add", "Neg", "Relu"]
    a = array(2, 4)
    np.testing.assert_array_equal(run(piece, {"a": a})["y"], np.maximum(-(a + 2), 0))


def test_constants_of_another_module_come_along() -> None:
    piece = extract(parsed(MODULES, PATHS), module="head")
    assert names(piece.graph.input) == ["y", "a"]
    assert names(piece.graph.output) == ["z"]
    y, a = array(2, 4), array(2, 4, seed=1)
    np.testing.assert_array_equal(run(piece, {"y": y, "a": a})["z"], y * 2 - a)


def test_a_size_of_the_graphs_input_is_taken_from_the_modules() -> None:
    """As dynamo writes it, once for all modules."""
    body = """
    g (float[3, batch] x) => (float[batch, 6] z)
    <int64[1] axis = {0}, int64[1] six = {6}>
    {
        all = Shape<start = 1, end = 2>(x)
        n = Squeeze(all, axis)
        a = Transpose(x)
        nn = Unsqueeze(n, axis)
        shape = Concat<axis = 0>(nn, six)
        b = Concat<axis = 1>(a, a)
        z = Reshape(b, shape)
    }
    """
    paths = {"a": "stem", "nn": "head", "shape": "head", "b": "head", "z": "head"}
    piece = extract(parsed(body, paths), module="head")
    assert dims(piece.graph.input) == {"a": ["batch", 3]}
    a = array(5, 3)
    np.testing.assert_array_equal(run(piece, {"a": a})["z"], np.concatenate([a, a], axis=1))


def test_given_names_stand_for_those_of_the_module() -> None:
    piece = extract(parsed(MODULES, PATHS), module="neck", outputs="b")
    assert (names(piece.graph.input), names(piece.graph.output)) == (["a"], ["b"])
    piece = extract(parsed(MODULES, PATHS), module="neck", inputs=["b"])
    assert (names(piece.graph.input), names(piece.graph.output)) == (["b"], ["y"])


def test_the_name_of_a_module_is_no_prefix() -> None:
    model = parsed(MODULES, {**PATHS, "h": "necklace"})
    assert names(extract(model, module="neck").graph.output) == ["y"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, InputError, "give inputs, outputs or module"),
        ({"outputs": ["relux"]}, InputError, 'the graph has no tensor "relux"; nearest: "x"'),
        ({"inputs": "aa", "outputs": "z"}, InputError, 'no tensor "aa"; nearest: "a"'),
        ({"inputs": ["h"]}, ExportError, 'output "z" also needs the input "x"; add it to the inputs'),
        ({"inputs": ["h", "x"], "outputs": ["y"]}, ExportError, 'no output depends on the input "h"'),
        ({"inputs": ["h"], "outputs": ["y"]}, ExportError, 'output "y" also needs the input "x"'),
        ({"inputs": ["h"], "outputs": ["kk"]}, ExportError, 'output "kk" does not depend on any input'),
        ({"outputs": ["x"]}, ExportError, '"x" is an input and an output'),
        ({"module": "nec"}, ExportError, 'no node is left of a module "nec"; nearest: "neck"'),
        ({"modul": "neck"}, InputError, 'unknown option "modul"; nearest: "module"'),
    ],
)
def test_what_cannot_be_cut(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        extract(parsed(MODULES, PATHS), **options)


def test_a_graph_without_module_paths_says_so() -> None:
    with pytest.raises(ExportError, match="no node has a module path"):
        extract(parsed(MODULES), module="neck")


def test_behind_an_operator_that_onnx_does_not_know() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20, "own" : 1]>'
        "g (float[n] x) => (float[n] z) { a = own.Thing(x)\n b = own.Other(a)\n z = own.Third(b) }"
    )
    with pytest.raises(ExportError, match='the dtype of "a" is not known'):
        rewrite_graph(model, [{"name": "extract_submodel", "inputs": "a"}])


def test_a_tensor_of_unknown_rank() -> None:
    body = "a = Reshape(x, shape)\n b = Relu(a)\n z = Add(x, b)"
    model = parsed(f"g (float[n] x, int64[m] shape) => (float[n] z) {{ {body} }}")
    with pytest.raises(ExportError, match='the number of axes of "b" is not known'):
        rewrite_graph(model, [{"name": "extract_submodel", "outputs": "b"}])


@st.composite
def random_graphs(draw: st.DrawFn) -> onnx.ModelProto:
    """Nodes over all values before them, so with branches, and two results each; what nobody reads is an output."""
    lines, values, read = [], ["x", "y"], set[str]()
    for index in range(draw(st.integers(2, 8))):
        first, second = draw(st.sampled_from(values)), draw(st.sampled_from([*values, "w"]))
        op_type = draw(st.sampled_from(["Add", "Mul", "Max"]))
        lines.append(f"v{index} = {op_type}({first}, {second})\ni{index}, j{index} = TopK<axis = 1>(v{index}, k)")
        read.update((first, second))
        values.extend((f"v{index}", f"i{index}"))
    made = [value for value in values[2:] if value not in read]
    outputs = ", ".join(f"float[n, 3] {value}" for value in made)
    weights = "<float[1] w = {0.5}, int64[1] k = {3}>"
    return parsed(f"g (float[n, 3] x, float[n, 3] y) => ({outputs}) {weights} {{ {chr(10).join(lines)} }}")


@examples(15, 60)
@given(model=random_graphs(), data=st.data())
def test_two_pieces_together_are_the_whole(model: onnx.ModelProto, data: st.DataObject) -> None:
    graph = model.graph
    count = data.draw(st.integers(1, len(graph.node) - 1))
    early = {name for node in graph.node[:count] for name in node.output} | {"x", "y"}
    late = {name for node in graph.node[count:] for name in node.input}
    ends = names(graph.output)
    given_early = sorted(name for name in early - {"x", "y"} if name in late or name in ends)
    known = {"x": array(2, 3), "y": array(2, 3, seed=1)}
    whole = run(model, known)
    for options in (
        {"outputs": given_early},
        {"inputs": sorted(early & late), "outputs": [name for name in ends if name not in early]},
    ):
        if options["outputs"]:
            piece, _ = rewrite_graph(model, [{"name": "extract_submodel", **options}])
            known.update(run(piece, {name: known[name] for name in names(piece.graph.input)}))
    for name in ends:
        np.testing.assert_array_equal(known[name], whole[name])


def test_inputs_and_outputs_that_are_left_out_connect_nothing() -> None:
    model = parsed("""
        small (float[4] a, float[4] b) => (float[4] y, bool[4] mask)
        {
            dropped, mask = Dropout(b)
            most = ReduceMax <keepdims = 0> (a)
            y = Clip(a, , most)
        }
    """)
    model.graph.node[0].output[0] = ""
    piece, _ = rewrite_graph(model, [{"name": "extract_submodel", "inputs": "a", "outputs": "y"}])
    assert [value.name for value in piece.graph.input] == ["a"]
    assert [node.op_type for node in piece.graph.node] == ["ReduceMax", "Clip"]
