"""int8: what is quantised and how, how far its numbers may be off, and what stays as it was."""

import logging
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from rewriters.onnx_graph.graph_outputs import run_once
from rewriters.onnx_graph.module_paths import module_path
from rewriters.precision import int8, to_int8
from rewriters.precision.qdq_forms import DEQUANTIZE, QUANTIZE
from tests.examples import slow_but
from tests.rewriters.precision.small_nets import conv_net, sample_images
from zoo.errors import ExportError, InputError
from zoo.precision_options import PrecisionOptions

SEEDS = range(6)
STEPS = {7: 64, 8: 127}
"""Of the weights, on each side of zero, by their bits."""


def quantized(seed: int, *, unsigned: bool = True, **options: object) -> onnx.ModelProto:
    return to_int8(
        conv_net(seed),
        PrecisionOptions(**options),  # type: ignore[arg-type]
        sample_images(seed),
        unsigned=unsigned,
    )[0]


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


@pytest.mark.parametrize("unsigned", [True, False])
@pytest.mark.parametrize("bits", STEPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_zero_points_and_the_scales_of_weights(seed: int, bits: int, unsigned: bool) -> None:
    """Of weights 0, and of all else too where activations are not unsigned; a scale for each channel of a weight."""
    made, _ = to_int8(conv_net(seed), PrecisionOptions(), sample_images(seed), bits=bits, unsigned=unsigned)
    known = constants(made)
    for node in made.graph.node:
        if node.op_type not in (QUANTIZE, DEQUANTIZE):
            continue
        zero_point = known[node.input[2]]
        if node.input[0] in known or not unsigned:
            assert not zero_point.any()
        else:
            assert zero_point.dtype == np.uint8
    makers = {node.output[0]: node for node in made.graph.node}
    source = constants(conv_net(seed))
    for node in made.graph.node:
        if node.op_type == "Conv":
            of_weight = makers[node.input[1]]
            stored, scale = known[of_weight.input[0]], known[of_weight.input[1]]
            assert stored.dtype == np.int8
            assert scale.shape == (stored.shape[0],)
            largest = np.abs(source[f"weight{node.name[4:]}"]).max(axis=(1, 2, 3))
            np.testing.assert_allclose(scale, largest / STEPS[bits], rtol=1e-5)
            assert known[node.input[2]].dtype == np.float32, "TensorRT refuses int32 biases"


@pytest.mark.parametrize("unsigned", [True, False])
@pytest.mark.parametrize(
    ("seed", "method"),
    [*((seed, "minmax") for seed in SEEDS), (0, "percentile"), (1, "percentile"), *slow_but([(0, "entropy")])],
)
def test_the_numbers_stay_within_what_the_scales_allow(seed: int, method: str, unsigned: bool) -> None:
    """On calibrated images with minmax: half a step for each rounding, carried through the weights' sums."""
    model, feeds = conv_net(seed), sample_images(seed)
    made = to_int8(model, PrecisionOptions(calibration_method=method), feeds, unsigned=unsigned)[0]
    bound = error_bound(made, model) if method == "minmax" else np.inf
    for feed in feeds:
        want, got = (run_once(one.SerializeToString(), feed)[0] for one in (model, made))
        assert got.shape == want.shape
        assert np.abs(want - got).max() <= bound
        assert np.corrcoef(want.ravel(), got.ravel())[0, 1] > 0.9


def error_bound(made: onnx.ModelProto, model: onnx.ModelProto) -> float:
    """The largest possible error of the output: each tensor's own rounding and what it inherits."""
    known, source = constants(made), constants(model)
    errors, largest = {"images": 0.0}, {"images": 1.0}
    for node in made.graph.node:
        given = errors.get(node.input[0], 0.0)
        if node.op_type == QUANTIZE and node.input[0] not in known:
            scale, zero = float(known[node.input[1]]), known[node.input[2]]
            errors[node.output[0]] = given + scale * (0.501 if not zero else 1.001) + 1e-5
            largest[node.output[0]] = scale * (max(255 - int(zero), int(zero)) if zero else 127)
        elif node.op_type == DEQUANTIZE and node.input[0] in errors:
            errors[node.output[0]], largest[node.output[0]] = given, largest[node.input[0]]
        elif node.op_type == "Conv":
            weight = np.abs(source[f"weight{node.name[4:]}"])
            step = weight.max(axis=(1, 2, 3)) / STEPS[7]
            fan = weight[0].size
            reach = largest.get(node.input[0], 1.0)
            per_channel = weight.sum(axis=(1, 2, 3)) * given + 0.501 * step * fan * (reach + given)
            errors[node.output[0]] = float(per_channel.max())
        elif node.op_type == "Relu":
            errors[node.output[0]] = given
        elif node.op_type == "Add":
            errors[node.output[0]] = sum(errors[name] for name in node.input)
    return errors["result"] + 1e-4


@pytest.mark.parametrize("unsigned", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_scales_of_activations(seed: int, unsigned: bool) -> None:
    """By the fp32 graph's values on all images, measured by a run of its own.

    Unsigned: the range with 0, on 255 steps. Else: 127 steps on each side.
    """
    model, made = conv_net(seed), quantized(seed, unsigned=unsigned)
    measured = onnx.ModelProto()
    measured.CopyFrom(model)
    names = sorted({"images", *(name for node in model.graph.node for name in node.output)})
    del measured.graph.output[:]
    measured.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    runs = [run_once(measured.SerializeToString(), feed) for feed in sample_images(seed)]
    values = {name: np.concatenate([run[place].ravel() for run in runs]) for place, name in enumerate(names)}
    known, seen = constants(made), set[str]()
    for node in made.graph.node:
        if node.op_type == QUANTIZE:
            name = node.input[0].removesuffix("_QuantizeLinear_Input")  # of an output, which keeps its name
            low, high = min(values[name].min(), 0), max(values[name].max(), 0)
            expected = (high - low) / 255 if unsigned else max(-low, high) / 127
            assert known[node.input[1]] == pytest.approx(expected, rel=1e-5), name
            zero_point = round(-low / expected) if unsigned else 0
            assert abs(int(known[node.input[2]]) - zero_point) <= int(unsigned)
            seen.add(name)
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    assert seen.issuperset(node.input[0] for node in convolutions)


def test_a_kept_module_is_untouched() -> None:
    model = conv_net(0)
    made, report = to_int8(model, PrecisionOptions(keep_fp32=("block1.*",)), sample_images(0))
    known = constants(made)
    node = next(node for node in made.graph.node if node.name == "conv1")
    np.testing.assert_array_equal(known[node.input[1]], constants(model)["weight1"])
    assert report.nodes == {"float32": 1, "int8": 3}
    assert next(entry for entry in report.kept if "conv1" in entry[0])[1] == 'kept by keep_fp32 "block1.*"'


def test_a_module_that_is_not_there_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(ExportError, match='"blok1".*"block1"'):
        to_int8(conv_net(0), PrecisionOptions(keep_fp32=("blok1",)), sample_images(0))


def test_metadata_names_and_dtypes_stay() -> None:
    model = conv_net(2)
    before = model.SerializeToString()
    made = quantized(2)
    assert model.SerializeToString() == before, "the given graph stays as it is"
    assert {entry.key: entry.value for entry in made.metadata_props} == {"zooport.task": "none"}
    assert list(made.graph.input) == list(model.graph.input)
    assert list(made.graph.output) == list(model.graph.output)
    paths = {node.name: module_path(node) for node in model.graph.node}
    for node in made.graph.node:
        if node.name in paths:
            assert module_path(node) == paths[node.name]
    assert made.producer_name == model.producer_name


def test_the_pair_that_a_relu_became_has_the_module_of_the_relu() -> None:
    found = 0
    for seed in SEEDS:
        net, made = conv_net(seed), quantized(seed)
        there = {node.name for node in made.graph.node}
        paths = {node.name: module_path(node) for node in net.graph.node}
        gone = {module_path(node) for node in net.graph.node if node.op_type == "Relu" and node.name not in there}
        pairs = {module_path(node) or "" for node in made.graph.node if node.op_type == "DequantizeLinear"}
        assert gone == {path for path in pairs if path.endswith(".relu")}
        assert all(module_path(node) == paths[node.name] for node in made.graph.node if node.name in paths)
        found += len(gone)
    assert found


def test_the_same_graph_and_images_give_the_same_bytes() -> None:
    assert quantized(1).SerializeToString() == quantized(1).SerializeToString()


@pytest.mark.parametrize("unsigned", [True, False])
def test_no_pair_stands_between_a_layer_and_its_relu(unsigned: bool) -> None:
    found = 0
    for seed in SEEDS:
        net, made = conv_net(seed), quantized(seed, unsigned=unsigned)
        before, after = makers(net), makers(made)
        readers = Counter(name for node in net.graph.node for name in node.input)
        for name, node in before.items():
            if node.op_type == "Relu" and before[node.input[0]].op_type == "Conv" and readers[node.input[0]] == 1:
                maker = after[name.replace("result", "result_QuantizeLinear_Input") if unsigned else name]
                assert maker.op_type == "Conv" if unsigned else after[maker.input[0]].op_type == "Conv"
                found += 1
        kinds = constants(made)
        for node in made.graph.node:
            if node.op_type == QUANTIZE and node.input[0] in after and after[node.input[0]].op_type == "Relu":
                assert kinds[node.input[2]].dtype == np.uint8
    assert found


def makers(model: onnx.ModelProto) -> dict[str, onnx.NodeProto]:
    """The node that makes each value."""
    return {name: node for node in model.graph.node for name in node.output}


def test_nothing_to_quantise_is_an_error() -> None:
    with pytest.raises(ExportError, match="nothing would compute in int8"):
        to_int8(conv_net(0), PrecisionOptions(keep_fp32=("block?",)), sample_images(0))
    with pytest.raises(ExportError, match="no calibration inputs"):
        to_int8(conv_net(0), PrecisionOptions(), [])


def test_a_layer_that_the_quantiser_leaves_out_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "QUANTIZABLE", ("Gemm",))  # what the library is asked for
    with pytest.raises(ExportError, match="left 4 of 4 layers in fp32, the first is Conv conv0 of block0.part"):
        to_int8(conv_net(0), PrecisionOptions(), sample_images(0))


def test_the_library_neither_prints_nor_logs(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    handlers = list(logging.getLogger().handlers)
    quantized(3, calibration_method="entropy")
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger().handlers == handlers
    assert list(tmp_path.iterdir()) == []


def test_a_failed_calibration_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ExportError, match="refuses the exported graph"):
        to_int8(conv_net(0), PrecisionOptions(), [{"images": np.zeros((1, 5, 12, 12), np.float32)}])
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library infers shapes into a file, does not see that it was cut off, and fails for what is missing in it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def cut_off(_: str, result: str, *_rest: object, **_options: object) -> None:
        Path(result).write_bytes(b"")

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes_path", cut_off)
    with pytest.raises(ExportError, match="ranges of .* cannot be found"):
        quantized(0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(InputError, match=f"{tmp_path}.*: the disk is full, .* make room, or set TMPDIR"):
        quantized(0)
    assert list(tmp_path.iterdir()) == []


def test_biases_and_types_of_the_file() -> None:
    kinds = {tensor.data_type for tensor in quantized(0).graph.initializer}
    assert kinds <= {TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8}
