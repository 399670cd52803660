"""fp16 as a whole: what is fp16, what stays and why, and that ONNX Runtime gives nearly the same numbers."""

import numpy as np
import onnx
import pytest
from hypothesis import given
from onnx import TensorProto

from rewriters.graph_passes.fold_constants import fold_constants
from rewriters.graph_passes.marks import marks
from rewriters.onnx_graph.value_types import value_types
from rewriters.precision import to_fp16
from rewriters.precision.caster import cast_to_fp16
from rewriters.precision.fp16 import _copy, _overflows
from rewriters.precision.islands import islands
from rewriters.precision.overflow import magnitudes
from rewriters.precision.rounded import rounded
from tests.rewriters.graph_rewriters.graphs import model, ops, parsed, run
from tests.rewriters.graph_rewriters.random_graphs import SIDE
from tests.rewriters.graph_rewriters.random_networks import random_networks
from tests.rewriters.graph_rewriters.test_random_graphs import random
from zoo.errors import ExportError
from zoo.precision_options import PrecisionOptions

PLAIN = PrecisionOptions()
CHAIN = """g (float[n, 2] x) => (float[n, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[1] large = {5000}>
{ a = MatMul(x, w)  b = Relu(a)  c = Mul(b, large)  d = MatMul(c, w)  e = Neg(d)  f = MatMul(e, w)  y = Abs(f) }"""
MODULES = {"a": "stem", "b": "stem", "c": "body.scale", "d": "body.mm", "f": "head"}
SMALL = [{"x": np.full((1, 2), 1e-4, np.float32)}]
LARGE = [*SMALL, {"x": np.ones((1, 2), np.float32)}]


def kinds(made: onnx.ModelProto) -> dict[str, int]:
    return {value.name: value.type.tensor_type.elem_type for value in (*made.graph.input, *made.graph.output)}


def test_the_report_counts_layers_and_says_what_stays() -> None:
    before = parsed(CHAIN, MODULES)
    content = before.SerializeToString(deterministic=True)
    made, report = to_fp16(before, PLAIN, SMALL)
    assert before.SerializeToString(deterministic=True) == content
    assert report.to_dict() == {
        "precision": "fp16",
        "nodes": {"float16": 3},
        "kept": [["the model itself", "1 nodes: outside the networks: before the first layer, or after the last one"]],
        "notes": [],
    }
    assert ops(made)[-1] == "Abs"
    assert kinds(made) == {"x": TensorProto.FLOAT, "y": TensorProto.FLOAT}
    np.testing.assert_allclose(run(made, SMALL[0])["y"], run(before, SMALL[0])["y"], rtol=2e-3)


def test_modules_that_a_user_keeps() -> None:
    _, report = to_fp16(parsed(CHAIN, MODULES), PrecisionOptions(keep_fp32=("body", "hea?")), SMALL)
    assert report.nodes == {"float16": 1, "float32": 2}
    assert [entry for entry in report.kept if "keep_fp32" in entry[1]] == [
        ("Mul c", 'kept by keep_fp32 "body"'),
        ("MatMul d", 'kept by keep_fp32 "body"'),
        ("MatMul f", 'kept by keep_fp32 "hea?"'),
    ]
    with pytest.raises(ExportError, match='keep_fp32: no node is of a module "bode"; nearest: "body"'):
        to_fp16(parsed(CHAIN, MODULES), PrecisionOptions(keep_fp32=("bode",)), SMALL)


def test_what_overflows_on_the_images_stays_and_is_reported() -> None:
    """Without that it would be infinite."""
    before = parsed(CHAIN, MODULES)
    made, report = to_fp16(before, PLAIN, LARGE)
    assert report.nodes == {"float16": 1, "float32": 2}
    reasons = dict(report.kept)
    assert reasons["Mul c"] == "c reaches 3e+04 on the calibration inputs, fp16 ends at 65504"
    assert {"MatMul d", "Neg e", "MatMul f"} < set(reasons)
    np.testing.assert_allclose(run(made, LARGE[1])["y"], run(before, LARGE[1])["y"], rtol=2e-3)
    blind, report = to_fp16(before, PLAIN, [])
    assert report.notes == ("no calibration inputs were given: overflows were not looked for",)
    assert np.isinf(run(rounded(blind), LARGE[1])["y"]).all()


def test_half_inputs_and_outputs() -> None:
    before = parsed(CHAIN, MODULES)
    made, report = to_fp16(before, PrecisionOptions(half_io=True), SMALL)
    assert kinds(made) == {"x": TensorProto.FLOAT16, "y": TensorProto.FLOAT16}
    assert report.notes == ("float16 inputs and outputs: x, y",)
    found = run(made, {"x": SMALL[0]["x"].astype(np.float16)})
    np.testing.assert_allclose(found["y"], run(before, SMALL[0])["y"], rtol=4e-3)


@pytest.mark.parametrize(
    "text",
    [
        "g (float[n] x) => (float[n] y) { y = Relu(x) }",
        """g (float[2, 2] x, bool c) => (float[2, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {
        y = If(c) <then_branch = t () => (float[2, 2] p) { p = MatMul(x, w) },
                   else_branch = e () => (float[2, 2] q) { q = Neg(x) }> }""",
    ],
)
def test_a_graph_that_would_be_fp32_all_the_same_is_refused(text: str) -> None:
    with pytest.raises(
        ExportError, match="fp16: nothing would compute in fp16 .layers of the graph: (none|1 in float32)"
    ):
        to_fp16(model(text), PLAIN, [])


def test_the_softmax_within_an_attention_is_fp32() -> None:
    before = parsed(
        "g (float[1, 6, 4] x) => (float[1, 6, 4] y) <float[4, 4] w = "
        f"{{{', '.join(str(number / 10) for number in range(16))}}}> "
        "{ q = MatMul(x, w)  a = Attention<q_num_heads = 2, kv_num_heads = 2>(q, x, x)  y = MatMul(a, w) }"
    )
    before.opset_import[0].version = 23
    feeds = [{"x": np.random.default_rng(0).standard_normal((1, 6, 4)).astype(np.float32)}]
    made, report = to_fp16(before, PLAIN, feeds)
    assert report.nodes == {"float16": 3}
    attention = next(node for node in made.graph.node if node.op_type == "Attention")
    attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in attention.attribute}
    assert attributes["softmax_precision"] == TensorProto.FLOAT
    onnx.checker.check_model(made, full_check=True)
    np.testing.assert_allclose(run(made, feeds[0])["y"], run(before, feeds[0])["y"], atol=5e-3)


def test_twice_is_once() -> None:
    once, first = to_fp16(parsed(CHAIN, MODULES), PLAIN, SMALL)
    twice, second = to_fp16(once, PLAIN, SMALL)
    assert twice.SerializeToString(deterministic=True) == once.SerializeToString(deterministic=True)
    assert second.nodes == first.nodes


@random(25, 300)
@given(graph=random_networks())
def test_random_networks(graph: onnx.ModelProto) -> None:
    """Cast everywhere but for the islands and what overflows: sound, the same ends, and near the fp32 graph.

    Each node rounds by 2**-11 of its largest number, and the errors of all nodes add up; a product carries on those of
    the values that it reads, which may be larger than itself: so they count by the largest number of the whole graph.
    """
    chance = np.random.default_rng(0)
    feed = {name: chance.standard_normal((2, 2, SIDE, SIDE)).astype(np.float32) for name in ("x", "z")}
    folded = _copy(graph)
    fold_constants(folded)
    stays = islands(folded, everywhere=True)
    made = _copy(folded)
    cast_to_fp16(made, {**stays, **_overflows(folded, stays, [feed])})
    assert list(made.graph.input) == list(graph.graph.input)
    assert list(made.graph.output) == list(graph.graph.output)
    kinds = value_types(folded).items()
    values = [name for name, kind in kinds if kind.tensor_type.elem_type == TensorProto.FLOAT]
    bound = max(magnitudes(folded, values, [feed]).values()) * 2**-11 * len(folded.graph.node)
    onnx.checker.check_model(made, full_check=True)
    before, after, plain = run(graph, feed), run(rounded(made), feed), run(made, feed)
    for name, expected in before.items():
        assert np.abs(after[name] - expected).max() <= bound, name
        assert np.abs(plain[name] - expected).max() <= bound, name


def test_a_mark_stays_on_the_rounded_tensor() -> None:
    """Of the second output: a cast has one alone."""
    halved = parsed(
        "g (float16[2, 4] x) => (float16[2, 2] y) { a, b = Split <axis = 1, num_outputs = 2> (x) y = Add (a, b) }"
    )
    halved.graph.node[0].metadata_props.add(key="zooport.mark.1", value='["right half"]')
    assert list(marks(rounded(halved).graph)) == [("right half", "b")]
