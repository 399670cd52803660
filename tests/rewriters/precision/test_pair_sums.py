"""int8 for ONNX Runtime: no CPU saturates, with VNNI or without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import QDQQuantizer

from backends.engine_options import EngineOptions
from backends.registry import backends
from rewriters.precision import converter, to_int8
from rewriters.precision.pair_sums import check_pair_sums, quantized_weights
from tests.examples import slow_but
from tests.rewriters.graph_rewriters.graphs import model
from tests.rewriters.precision.small_nets import conv_net, sample_images
from tests.rewriters.precision.test_forms import NETS, net
from zoo.errors import ExportError
from zoo.precision_options import PrecisionOptions

LEAST, LARGEST = -(2**15), 2**15 - 1
STEPS = {7: 64, 8: 127}
WEIGHTS = {"QLinearConv": 3, "QLinearMatMul": 3, "QGemm": 3, "MatMulIntegerToFloat": 1, "MatMulInteger": 1}
"""Kernels of whole numbers -> the input that their weights are."""
SQUARE = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
Feeds = list[dict[str, np.ndarray]]


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def products(body: str, result: str = "4, 4") -> tuple[onnx.ModelProto, Feeds]:
    text = f"g (float[4, 4] x) => (float[{result}] y) {{ {body} }}"
    constants = {"w": SQUARE, "stack": np.stack([SQUARE, 3 * SQUARE.T])}
    return model(text, **{name: numbers for name, numbers in constants.items() if name in body}), [{"x": normal(4, 4)}]


def grouped() -> tuple[onnx.ModelProto, Feeds]:
    text = (
        "g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) { r = Relu(x)  "
        "y = Conv<group = 4, kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(r, w) }"
    )
    return model(text, w=normal(4, 1, 3, 3)), [{"x": normal(1, 4, 8, 8)}]


GRAPHS = {
    **{f"convolutions {seed}": (conv_net(seed), sample_images(seed)) for seed in range(6)},
    **{name: (net(body, count), [{"images": normal(1, 4, 8, 8)}]) for name, (body, count, _) in NETS.items()},
    "products": products("a = Gemm<transB = 1>(x, w)  b = MatMul(a, w)  y = Gemm(b, w)"),
    "a stack of matrices": products("y = MatMul(x, stack)", "2, 4, 4"),
    "grouped": grouped(),
}
ON_EVERY_COMMIT = slow_but(GRAPHS, *(name for name in GRAPHS if name not in [f"convolutions {n}" for n in range(2, 6)]))


def kernels(made: onnx.ModelProto, folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    """The kernels of whole numbers that ONNX Runtime makes of the graph, with the weights that it gives them."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    graph = onnx.load(options.optimized_model_filepath).graph
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type in WEIGHTS:
            yield node.name, known[node.input[WEIGHTS[node.op_type]]]


def worst_sums(weights: np.ndarray) -> tuple[int, int]:
    """The smallest and the largest sum of any two products of the weights with uint8, whichever a kernel adds."""
    assert weights.dtype == np.int8
    ordered = np.sort(weights.astype(np.int64).ravel())
    return int(255 * ordered[:2].clip(max=0).sum()), int(255 * ordered[-2:].clip(min=0).sum())


@pytest.mark.parametrize("name", ON_EVERY_COMMIT)
def test_no_sum_of_two_products_leaves_16_bits(name: str, tmp_path: Path) -> None:
    made, _ = converter("int8", "onnxruntime")(GRAPHS[name][0], PrecisionOptions(), GRAPHS[name][1])
    found = list(kernels(made, tmp_path))
    assert found
    for layer, weights in found:
        least, largest = worst_sums(weights)
        assert LEAST <= least <= largest <= LARGEST, layer


@pytest.mark.parametrize("name", ON_EVERY_COMMIT)
def test_engines_keep_eight_bits_which_onnxruntime_is_not_given(name: str) -> None:
    """The largest weight of each channel takes all steps."""
    before, feeds = GRAPHS[name]
    for name_, backend in backends().items():
        made, _ = converter("int8", name_)(before, PrecisionOptions(), feeds)
        eight = backend.options is EngineOptions
        stored = [numpy_helper.to_array(tensor) for tensor in made.graph.initializer if len(tensor.dims) > 1]
        assert {int(np.abs(weights.astype(int)).max()) for weights in stored} == {STEPS[8 if eight else 7]}
        if eight:
            with pytest.raises(ExportError, match=r"int8: two products of \w+ .+ give 64770, expected 32767 at most"):
                check_pair_sums(made)
        else:
            check_pair_sums(made)


def test_an_einsum_of_one_operand_has_no_weights() -> None:
    turned = model('g (float[2, 3] x) => (float[3, 2] y) { y = Einsum<equation = "ij->ji">(x) }')
    assert list(quantized_weights(turned)) == []


def test_a_quantiser_that_gives_eight_bits_all_the_same_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def eight(*arguments: Any, **options: Any) -> QDQQuantizer:
        return QDQQuantizer(*arguments, **{**options, "reduce_range": False})

    monkeypatch.setattr("rewriters.precision.int8.QDQQuantizer", eight)
    before, feeds = GRAPHS["convolutions 0"]
    with pytest.raises(ExportError, match="a CPU without VNNI would saturate"):
        to_int8(before, PrecisionOptions(), feeds)
