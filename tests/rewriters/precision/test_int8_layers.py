"""int8: layers of other forms than a convolution's, what is no layer, and who reads numbers that are not rounded."""

import numpy as np
import onnx
import pytest

from rewriters.onnx_graph.graph_outputs import run_once
from rewriters.onnx_graph.module_paths import MODULE
from rewriters.precision import PrecisionReport, to_int8
from tests.rewriters.graph_rewriters.graphs import model, run
from zoo.errors import ExportError
from zoo.precision_options import PrecisionOptions

CLOSE = 0.03  # of the largest number: a few roundings to 127 steps. With scales along another axis it is 0.3 and more
CHANNELS = np.array([1, 10, 100, 1000], np.float32)  # far apart, so that one scale for all loses three of them
SQUARE = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)


def feeds(*shape: int) -> list[dict[str, np.ndarray]]:
    chance = np.random.default_rng(1)
    return [{"x": chance.standard_normal(shape).astype(np.float32)} for _ in range(3)]


def check(before: onnx.ModelProto, sample_images: list[dict[str, np.ndarray]], layers: int) -> PrecisionReport:
    """As ONNX Runtime runs it by default, its optimisers included, which read the pairs in their own way."""
    made, report = to_int8(before, PrecisionOptions(), sample_images)
    assert report.nodes["int8"] == layers
    want, got = ([run(one, feed) for feed in sample_images] for one in (before, made))
    for name in want[0]:
        exact, rough = (np.stack([arrays[name] for arrays in runs]) for runs in (want, got))
        assert np.abs(rough - exact).max() < CLOSE * np.abs(exact).max(), name
    return report


@pytest.mark.parametrize(
    ("head", "body", "weight"),
    [
        (
            "g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y, float[1, 4, 8, 8] z)",
            "y = Conv(x, w)  z = ConvTranspose(x, w)",
            (SQUARE * CHANNELS[:, None])[..., None, None],
        ),
        (
            "g (float[4, 4] x) => (float[4, 4] y, float[4, 4] z, float[4, 4] u)",
            "y = Gemm<transB = 1>(x, w)  z = MatMul(x, w)  u = Gemm(x, w)",
            SQUARE * CHANNELS[:, None],
        ),
    ],
)
def test_layers_with_other_channels_share_no_scales(head: str, body: str, weight: np.ndarray) -> None:
    shape = (1, 4, 8, 8) if weight.ndim == 4 else (4, 4)
    check(model(f"{head} {{ {body} }}", w=weight), feeds(*shape), body.count("("))


def test_layers_with_the_same_channels_share_their_weight() -> None:
    before = model("g (float[4, 4] x) => (float[4, 4] z) { y = MatMul(x, w)  z = MatMul(y, w) }", w=SQUARE)
    made, _ = to_int8(before, PrecisionOptions(), feeds(4, 4))
    assert [list(tensor.dims) for tensor in made.graph.initializer].count([4, 4]) == 1


@pytest.mark.parametrize("weight", [np.stack([SQUARE, SQUARE.T]), SQUARE[0]])
def test_a_stack_of_matrices_and_a_vector(weight: np.ndarray) -> None:
    result = "2, 4, 4" if weight.ndim > 1 else "4"
    check(model(f"g (float[4, 4] x) => (float[{result}] y) {{ y = MatMul(x, w) }}", w=weight), feeds(4, 4), 1)


def test_boxes_as_the_mean_of_bins_and_resizes_are_no_layers() -> None:
    """Bins of 32 pixels in int8 would move boxes by many pixels."""
    before = model(
        "g (float[4, 4] x) => (float[4, 1] y, float[4, 4] z, float[4, 4] u) { a = MatMul(x, w)  p = Softmax(a)  "
        "d = MatMul(p, bins)  y = Mul(d, stride)  z = MatMul(a, mean)  u = MatMul(first, a) }",
        w=SQUARE,
        bins=[[0], [1], [2], [3]],
        stride=[32],
        mean=np.full((4, 4), 0.25, np.float32),
        first=SQUARE,
    )
    report = check(before, feeds(4, 4), 1)
    assert dict(report.nodes) == {"float32": 3, "int8": 1}
    assert [reason for _, reason in report.kept] == [
        "the mean of a softmax's bins: decoding, no layer",
        "means with fixed shares, as of a resize: no layer",
        "its weights are the first factor, int8 is for the second",
    ]


def test_a_branch_reads_what_it_read() -> None:
    """ONNX Runtime's quantiser fuses a Relu into its layer, and does not look into branches."""
    branch = "{ p = Mul(r, two) }", "{ q = Add(r, two) }"
    before = model(
        "g (float[4, 4] x, bool c) => (float[4, 4] y) { a = MatMul(x, w)  r = Relu(a)  y = If(c) "
        f"<then_branch = t () => (float[4, 4] p) {branch[0]}, else_branch = e () => (float[4, 4] q) {branch[1]}> }}",
        w=SQUARE,
        two=[2],
    )
    check(before, [{**feed, "c": np.array(True)} for feed in feeds(4, 4)], 1)


def test_every_layer_in_fp32_is_reported() -> None:
    before = model("g (float[4, 4] x) => (float[4, 4] y) { a = MatMul(x, w)  b = MatMul(a, x)  "
                   'y = Einsum<equation = "ij,jk->ik">(b, w) }', w=SQUARE)  # fmt: skip
    _, report = to_int8(before, PrecisionOptions(), feeds(4, 4))
    assert report.nodes["float32"] == len(report.kept)
    assert [reason for _, reason in report.kept] == [
        "its weights are computed",
        "int8 is for Conv, ConvTranspose, Gemm, MatMul",
    ]


@pytest.mark.parametrize("unsigned", [True, False])
@pytest.mark.parametrize("activation", ["Relu", "LeakyRelu"])
def test_a_module_in_fp32_reads_what_is_not_rounded(activation: str, unsigned: bool) -> None:
    """Where all on the way to an output is kept, the output is what it was."""
    before = model(
        f"g (float[4, 4] x) => (float[4, 4] y, float[4, 4] z) {{ a = MatMul(x, w)  f = {activation}(a)  "
        "y = MatMul(f, w)  z = MatMul(f, v) }",
        w=SQUARE,
        v=SQUARE.T,
    )
    for node, name in zip(before.graph.node, ("backbone", "backbone", "head.cls", "head.box"), strict=True):
        node.metadata_props.add(key=MODULE, value=name)
    options = PrecisionOptions(keep_fp32=("backbone", "head.box"))
    made, report = to_int8(before, options, feeds(4, 4), unsigned=unsigned)
    assert report.nodes == {"float32": 2, "int8": 1}
    for feed in feeds(4, 4):
        np.testing.assert_allclose(run(made, feed)["z"], run(before, feed)["z"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", ["percentile", "entropy"])
def test_a_dark_first_image_changes_nothing(method: str) -> None:
    """Histograms that begin with it would grow to millions of bins."""
    before = model("g (float[4, 4] x) => (float[4, 4] y) { y = MatMul(x, w) }", w=SQUARE)
    bright = feeds(4, 4)
    sample_images = [{"x": bright[0]["x"] * np.float32(1e-5)}, *bright]
    made = [
        to_int8(before, PrecisionOptions(calibration_method=method), order)[0]
        for order in (sample_images, sample_images[::-1])
    ]
    assert made[0].SerializeToString() == made[1].SerializeToString()


@pytest.mark.parametrize("method", ["minmax", "entropy"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_named(method: str, wrong: float) -> None:
    before = model("g (float[4, 4] x) => (float[4, 4] y) { a = Log(x)  y = MatMul(a, w) }", w=SQUARE)
    before.graph.node[0].metadata_props.add(key=MODULE, value="stem.log")
    options = PrecisionOptions(calibration_method=method)
    sample_images = [{"x": np.abs(feed["x"])} for feed in feeds(4, 4)]
    sample_images[1]["x"][0, 0] = wrong
    with pytest.raises(ExportError, match="int8: a of Log .* in stem.log is infinite or NaN .*keep_fp32"):
        to_int8(before, options, sample_images)
    direct = model("g (float[4, 4] x) => (float[4, 4] y) { y = MatMul(x, w) }", w=SQUARE)
    with pytest.raises(ExportError, match="int8: x is infinite or NaN .* give other images"):
        to_int8(direct, options, sample_images)


def test_the_graph_given_stays() -> None:
    before = model("g (float[4, 4] x) => (float[4, 4] y) { a = Gemm<transB = 1>(x, w)  y = MatMul(a, w) }", w=SQUARE)
    content = before.SerializeToString(deterministic=True)
    made, _ = to_int8(before, PrecisionOptions(), feeds(4, 4))
    assert before.SerializeToString(deterministic=True) == content
    assert run_once(made.SerializeToString(), feeds(4, 4)[0])[0].shape == (4, 4)
