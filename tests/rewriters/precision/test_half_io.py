"""fp16 at the ends: names stay, no Cast is left where both sides are fp16."""

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from rewriters.precision.half_io import half_io
from tests.rewriters.graph_rewriters.graphs import model, ops, run


def kinds(made: onnx.ModelProto) -> dict[str, int]:
    return {value.name: value.type.tensor_type.elem_type for value in (*made.graph.input, *made.graph.output)}


def test_ends_that_are_cast_anyway_lose_their_casts() -> None:
    made = model(
        "g (float[n] x) => (float[n] y) { h = Cast<to = 10>(x)  r = Relu(h)  y = Cast<to = 1>(r) }",
    )
    assert half_io(made) == ("x", "y")
    assert ops(made) == ["Relu"]
    assert kinds(made) == {"x": TensorProto.FLOAT16, "y": TensorProto.FLOAT16}
    found = run(made, {"x": np.array([-1, 2], np.float16)})
    assert found["y"].tolist() == [0, 2]


def test_a_cast_from_another_kind_of_number_stays() -> None:
    made = model(
        "g (float[n] x) => (float[n] y) { h = Cast<to = 10>(x)  z = Sub(h, h)  b = Greater(h, z)  m = Cast<to = 1>(b)  "
        "c = Cast<to = 10>(m)  p = Mul(h, c)  y = Cast<to = 1>(p) }"
    )
    half_io(made)
    assert run(made, {"x": np.array([-1, 2], np.float16)})["y"].tolist() == [0, 2]


def test_fp32_within_gets_casts_and_values_that_are_read_twice_stay() -> None:
    made = model(
        """g (float[n] x, int64[n] i) => (float[n] y, float[n] z, int64[n] j)
        { y = Exp(x)  z = Neg(y)  j = Neg(i) }"""
    )
    assert half_io(made) == ("x", "y", "z")
    found = run(made, {"x": np.array([0, 1], np.float16), "i": np.array([1, 2])})
    np.testing.assert_allclose(found["z"], [-1, -np.e], rtol=1e-3)
    assert {name: array.dtype.name for name, array in found.items()} == {"y": "float16", "z": "float16", "j": "int64"}


def test_an_output_that_is_read_in_both_precisions() -> None:
    made = model(
        """g (float[n] x) => (float[n] y, float[n] z, float[n] v)
        { h = Cast<to = 10>(x)  r = Relu(h)  y = Cast<to = 1>(r)  z = Exp(y)  q = Neg(r)  v = Cast<to = 1>(q) }"""
    )
    half_io(made)
    found = run(made, {"x": np.array([-1, 1], np.float16)})
    np.testing.assert_allclose(found["z"], [1, np.e], rtol=1e-3)
    assert found["y"].tolist() == [0, 1]
    assert found["v"].tolist() == [0, -1]


def test_a_branch_reads_what_it_read() -> None:
    made = model(
        """g (float[n] x, bool c) => (float[n] y) {
        y = If(c) <then_branch = t () => (float[n] p) { p = Neg(x) }, else_branch = e () => (float[n] q) { q = Exp(x) }>
        }"""
    )
    half_io(made)
    found = run(made, {"x": np.array([1], np.float16), "c": np.array(True)})
    assert found["y"].tolist() == [-1]


def test_an_input_with_a_default_stays() -> None:
    """A threshold that is rounded decides otherwise."""
    made = model("g (float[n] x, float[1] t) => (float[n] y) { y = Add(x, t) }", t=[0.3])
    assert half_io(made) == ("x", "y")
    assert numpy_helper.to_array(made.graph.initializer[0]) == np.float32(0.3)
    assert run(made, {"x": np.array([1], np.float16)})["y"].tolist() == [np.float16(1.3)]
