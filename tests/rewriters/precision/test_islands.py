"""fp16 is for networks: what lies between two layers, and of that not what is a place, an order or a statistic."""

import onnx
import pytest

from rewriters.precision.islands import OUTSIDE, PLACES, RANGE, STATISTICS, SUMS, WITHIN, islands
from tests.rewriters.graph_rewriters.graphs import model

WEIGHTS = "float[4, 4, 1, 1] w, float[4, 4] m"
SAMPLE_IMAGE = "g (float[n, 4, 8, 8] x"


def conv(source: str, result: str) -> str:
    return f"{result} = Conv({source}, w)"


def stays(before: onnx.ModelProto) -> dict[str, str]:
    """Reason by the name of a node's first output."""
    found = islands(before)
    return {before.graph.node[place].output[0]: reason for place, reason in found.items()}


def network(middle: str, more: str = "", declared: str = "") -> onnx.ModelProto:
    """Conv to a, what is tested from a to b, Conv to y. `more`: inputs; `declared`: types that do not follow."""
    known = f"{WEIGHTS}{declared}"
    text = f"{SAMPLE_IMAGE}{more}) => (float[n, 4, h, v] y) <{known}> {{ {conv('x', 'a')} {middle} {conv('b', 'y')} }}"
    result = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20, "my" : 1]> {text}')
    for index, name in reversed(list(enumerate(["w", "m"]))):
        shape = [4, 4, 1, 1][: 4 - 2 * index]
        result.graph.initializer.append(onnx.helper.make_tensor(name, 1, shape, [0.5] * 16))
    return result


def test_before_the_first_layer_and_after_the_last_is_fp32() -> None:
    before = model(
        "g (float[n, 2] x) => (float[n, 2] y) { s = Sub(x, mean)  a = MatMul(s, w)  b = Relu(a)  c = MatMul(b, w) "
        "d = Add(c, mean)  y = Sigmoid(d) }",
        w=[[1, 2], [3, 4]],
        mean=[1, 2],
    )
    assert stays(before) == {"s": OUTSIDE, "d": OUTSIDE, "y": OUTSIDE}


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        ("c = Relu(a)  b = Add(c, a)", {}),
        ("b = Softmax(a)", {"b": RANGE}),
        ("c = Exp(a)  b = Relu(c)", {"c": RANGE}),
        ("c = GlobalAveragePool(a)  d = Sigmoid(c)  b = Mul(a, d)", {"c": SUMS}),
        ("c = InstanceNormalization(a, v, v)  b = Relu(c)", {"c": STATISTICS}),
        ("b = GridSample(a, grid)", {"b": PLACES}),
    ],
)
def test_islands_between_layers(middle: str, expected: dict[str, str]) -> None:
    before = network(middle, ", float[4] v, float[n, 8, 8, 2] grid")
    assert stays(before) == expected


def test_a_normalisation_that_is_spelled_out() -> None:
    """Mean of squares, its root and the quotient; not the difference and the affine part."""
    middle = (
        "mean = ReduceMean(a, axes)  d = Sub(a, mean)  q = Mul(d, d)  v = ReduceMean(q, axes)  e = Add(v, eps) "
        "r = Sqrt(e)  z = Div(d, r)  b = Mul(z, eps)"
    )
    found = stays(network(middle, ", int64[1] axes, float[1] eps"))
    assert found == dict.fromkeys(("mean", "q", "v", "r", "z"), STATISTICS)


def test_boxes_lead_to_no_layer_although_what_is_pooled_in_them_does() -> None:
    """The form of a two-stage detector: decoding is fp32 up to the boxes, and what is pooled is fp16 again."""
    middle = (
        "f = Relu(a)  deltas = Conv(f, w)  c = Transpose<perm = [0, 2, 3, 1]>(deltas)  flat = Reshape(c, rows) "
        "moved = Mul(flat, two)  boxes = Add(moved, two) "
        "p = RoiAlign<output_height = 2, output_width = 2>(f, boxes, i)  b = Relu(p)"
    )
    found = stays(network(middle, ", int64[2] rows, float[1] two, int64[r] i"))
    assert found == {**dict.fromkeys(("c", "flat", "moved", "boxes"), OUTSIDE), "p": PLACES}


def test_an_order_leads_to_no_layer() -> None:
    middle = "f = Reshape(a, rows)  s = Neg(f)  t, i = TopK(s, k)  b = Reshape(t, shape)"
    found = stays(network(middle, ", int64[1] rows, int64[1] k, int64[4] shape"))
    assert set(found) == {"f", "s", "t"}
    assert found["f"] == found["s"] == OUTSIDE


def test_the_grid_of_a_sampling_is_fp32_and_its_image_is_not() -> None:
    middle = (
        "f = Relu(a)  o = Conv(a, w)  t = Transpose<perm = [0, 2, 3, 1]>(o)  u, v = Split<axis = 3, num_outputs = 2>(t)"
        " grid = Tanh(u)  b = GridSample(f, grid)"
    )
    assert stays(network(middle)) == {"t": OUTSIDE, "u": OUTSIDE, "grid": OUTSIDE, "b": PLACES}


def test_loops_and_custom_operators_stay_and_what_leads_to_them_alone_as_well() -> None:
    middle = "p = Relu(a)  b = my.Plugin(p)"
    assert stays(network(middle, declared=", float[n, 4, 8, 8] b")) == {"p": OUTSIDE, "b": WITHIN}


def test_a_product_of_computed_matrices_is_no_layer() -> None:
    """It may be one of places; between layers, as in an attention, it is fp16."""
    places = model("g (float[n, 2] x, float[2, n] z) => (float[n, n] y) { a = MatMul(x, z)  y = Relu(a) }")
    assert stays(places) == {"a": OUTSIDE, "y": OUTSIDE}
    attention = model(
        "g (float[n, 2] x) => (float[n, 2] y) { q = MatMul(x, w)  k = MatMul(x, w)  t = Transpose<perm = [1, 0]>(k) "
        "s = MatMul(q, t)  p = Softmax(s)  o = MatMul(p, q)  y = MatMul(o, w) }",
        w=[[1, 2], [3, 4]],
    )
    assert stays(attention) == {"p": RANGE}


def test_what_is_rounded_to_an_element_leads_to_no_layer() -> None:
    """A sampling between elements, written out: what is left of a place weighs features, and is computed in fp32."""
    middle = (
        "o = Conv(a, w)  place = Mul(o, far)  low = Floor(place)  rest = Sub(place, low)  "
        "whole = Cast<to = 7>(place)  picked = Gather(a, whole)  share = Mul(rest, far)  b = Mul(share, a)"
    )
    found = stays(network(middle, ", float[1] far"))
    assert found == {"place": OUTSIDE, "low": OUTSIDE, "rest": PLACES, "whole": OUTSIDE, "picked": OUTSIDE}


def test_a_layer_that_reads_what_is_rounded_is_fp16() -> None:
    assert "b" not in stays(network("c = Round(a)  b = Conv(a, w)"))


def test_the_mean_of_bins_is_no_layer() -> None:
    before = model(
        "g (float[n, 2] x) => (float[n, 1] y) { a = MatMul(x, w)  p = Softmax(a)  t = Transpose<perm = [0, 1]>(p)  "
        "d = MatMul(t, bins)  y = Mul(d, stride) }",
        w=[[1, 2], [3, 4]],
        bins=[[0], [1]],
        stride=[32],
    )
    assert stays(before) == dict.fromkeys("ptdy", OUTSIDE)


@pytest.mark.parametrize("product", ["MatMul(a, shares)", "MatMul(turned, a)"])
def test_a_resize_as_a_product_is_no_layer(product: str) -> None:
    """The matrix's rows sum to 1, where it is the first factor; else its columns. Others are layers."""
    before = model(
        f"g (float[2, 2] x) => (float[2, 2] y) {{ a = MatMul(x, w)  y = {product} }}",
        w=[[1, 2], [3, 4]],
        shares=[[0.25, 1.1], [0.75, -0.1]],
        turned=[[0.25, 0.75], [1.1, -0.1]],
    )
    assert stays(before) == {"y": OUTSIDE}
    wrong = {"shares": "turned", "turned": "shares"}
    for node in before.graph.node:
        node.input[:] = [wrong.get(name, name) for name in node.input]
    assert stays(before) == {}
