"""Deploying in fp16 and int8: the metric decides, and what was really computed is counted."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
from safetensors.torch import load_file, save_file

from backends import load
from tests.tools.conftest import made_tiny, made_voc, run_quietly
from tests.tools.tiny import Run, Tiny
from zoo.manifest import Manifest

pytestmark = pytest.mark.usefixtures("no_plots")

Deploy = Callable[[Sequence[str]], Run]


def place(tiny: Tiny, name: str) -> Path:
    return tiny.place.with_name(name)


def lower(voc: Tiny, precision: str, *more: object) -> list[str]:
    """Arguments for a precision, calibrated on other images than those that the metric judges."""
    return voc.arguments("--precision", precision, "--calibration-image", voc.folder / "training", *more)


def worst_sum(folder: Path) -> int:
    """Of two products of a weight of the file with uint8."""
    tensors = onnx.load(folder / "model.onnx").graph.initializer
    weights = [
        onnx.numpy_helper.to_array(t) for t in tensors if t.data_type == onnx.TensorProto.INT8 and len(t.dims) > 1
    ]
    return max(int(255 * np.sort(np.abs(array.astype(int)).ravel())[-2:].sum()) for array in weights)


@pytest.fixture(scope="module")
def lowered(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Tiny, Run]]:
    """lowered(precision): a config that was deployed in it once, only to be read, and what that printed."""

    @cache
    def made(precision: str) -> tuple[Tiny, Run]:
        voc = made_voc(made_tiny(tmp_path_factory.mktemp(precision)))
        return voc, run_quietly("deploy", lower(voc, precision))

    return made


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_a_lower_precision_is_judged_by_the_metric(lowered: Callable[[str], tuple[Tiny, Run]], precision: str) -> None:
    voc, run = lowered(precision)
    assert run.code == 0, run.err
    assert "metric: segmentation/mIoU" in run.out
    assert "on 7 images" in run.out
    folder = place(voc, f"onnxruntime-{precision}")
    manifest = Manifest.read(folder)
    assert manifest.precision["stored"] == precision
    nodes = manifest.precision["nodes"]
    assert nodes["stored"][{"fp16": "float16", "int8": "int8"}[precision]] == 1, "the one convolution"
    assert manifest.precision["calibrated_on"] == 5
    assert manifest.precision["options"]["calibration_images"] == 32, "what was asked for"
    assert manifest.parity["verdict"] == "passed"
    record = json.loads((folder / "parity.json").read_text())
    gate = {"fp16": 0.3, "int8": 1.0}[precision]
    assert [figure["gate"] for figure in record["metric"]] == {"fp16": [gate, gate], "int8": [gate]}[precision]
    assert precision == "fp16" or worst_sum(folder) <= 2**15 - 1, "on a CPU without VNNI it saturates"
    assert ("every fp16 result rounded to fp16: " in run.out) == (precision == "fp16")
    gated = {figure["name"] for case in record["cases"] for figure in case["findings"]["figures"] if figure["gate"]}
    assert gated == {"input", "mean of input"}, "which have no precision"
    page = (folder / "report.html").read_text()
    assert f"Stored in {precision}" in page
    assert "Below fp32 the metric decides" in page
    assert "calibrated on 5 inputs: 32 were asked for, and there are no more" in page


def test_a_metric_that_is_missed_publishes_nothing(deploy: Deploy, voc: Tiny) -> None:
    text = voc.config.read_text()
    voc.config.write_text(text + "\ngates = dict(metric=dict(points=1e-9))\n")
    run = deploy(lower(voc, "int8"))
    assert run.code == 3, run.out
    assert "metric: segmentation/mIoU" in run.err
    assert not place(voc, "onnxruntime-int8").exists()
    allowed = deploy(lower(voc, "int8", "--allow-parity-failure"))
    assert allowed.code == 0, allowed.err
    assert Manifest.read(place(voc, "onnxruntime-int8")).parity["verdict"] == "failed-allowed"


def test_calibration_keeps_away_from_what_judges(deploy: Deploy, voc: Tiny) -> None:
    copied = voc.folder / "training/copy.jpg"
    copied.write_bytes((voc.folder / "voc/JPEGImages/3.jpg").read_bytes())
    run = deploy(lower(voc, "int8"))
    assert run.code == 2
    assert f"calibration image {copied} is {voc.folder}/voc/JPEGImages/3.jpg of the config's dataset, which" in run.err
    copied.unlink()
    text = voc.config.read_text()
    voc.config.write_text(f"{text}\ncalibration_dataset = dataset\n")
    run = deploy(voc.arguments("--precision", "int8"))
    assert run.code == 2
    assert "calibration_dataset is the config's dataset, which judges" in run.err
    section = f'dict(type="ImageFolder", root="{voc.folder / "voc/JPEGImages"}")'
    voc.config.write_text(f"{text}\ncalibration_dataset = {section}\n")
    run = deploy(voc.arguments("--precision", "int8"))
    assert run.code == 2
    assert "0.jpg of the config's dataset, which judges" in run.err


def test_without_a_data_set_nothing_judges_it_and_the_manifest_says_so(deploy: Deploy, tiny: Tiny) -> None:
    run = deploy(tiny.with_images("--precision", "fp16", "--calibration-image", *tiny.images, "--allow-parity-failure"))
    assert run.code == 0, run.err
    assert "metric: nothing was measured: precision fp16 is judged by the metric" in run.out
    assert Manifest.read(place(tiny, "onnxruntime-fp16")).parity["verdict"] == "failed-allowed"


def test_half_inputs_and_outputs(deploy: Deploy, voc: Tiny, tmp_path: Path) -> None:
    run = deploy(lower(voc, "fp16", "--half-io"))
    assert run.code == 0, run.err
    folder = place(voc, "onnxruntime-fp16-halfio")
    with load(folder) as model:
        assert [spec.dtype for spec in model.runner.inputs] == ["float16"]
        assert model(np.zeros((64, 96, 3), np.uint8)).label_map.dtype == np.uint8


def test_a_module_that_is_kept(deploy: Deploy, voc: Tiny) -> None:
    run = deploy(lower(voc, "int8", "--keep-fp32", "conv"))
    assert run.code == 5
    assert "nothing would compute in int8" in run.err
    run = deploy(lower(voc, "fp16", "--keep-fp32", "covn"))
    assert run.code in (2, 5)
    assert 'nearest: "conv"' in run.err


@pytest.mark.slow
def test_the_same_bytes_on_every_run(deploy: Deploy, voc: Tiny) -> None:
    def once() -> list[bytes]:
        assert deploy(lower(voc, "int8")).code == 0
        folder = place(voc, "onnxruntime-int8")
        return [(folder / name).read_bytes() for name in ("model.onnx", "deployment.json")]

    assert once() == once()


def test_an_evaluation_deploys_in_the_precision_that_is_asked_for(
    lowered: Callable[[str], tuple[Tiny, Run]], evaluate: Deploy
) -> None:
    voc, _ = lowered("int8")
    before = (place(voc, "onnxruntime-int8") / "deployment.json").stat().st_mtime_ns
    run = evaluate(voc.arguments("--backend", "onnxruntime", "--precision", "int8"))
    assert run.code == 0, run.err
    assert "onnxruntime-int8" in run.out
    assert (place(voc, "onnxruntime-int8") / "deployment.json").stat().st_mtime_ns == before


def test_the_graph_is_typed_as_asked_for(lowered: Callable[[str], tuple[Tiny, Run]]) -> None:
    voc, _ = lowered("fp16")
    graph = onnx.load(place(voc, "onnxruntime-fp16") / "model.onnx").graph
    weights = {tensor.data_type for tensor in graph.initializer}
    assert onnx.TensorProto.FLOAT16 in weights
    assert graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_a_model_that_finds_nothing_is_not_passed(deploy: Deploy, voc: Tiny) -> None:
    weights = load_file(voc.folder / "tiny.safetensors")
    weights["conv.bias"][0] = 1000.0
    save_file(weights, voc.folder / "tiny.safetensors")
    run = deploy(lower(voc, "int8"))
    assert run.code == 3
    assert "nothing was compared" in run.err


def test_calibration_images_that_would_change_nothing_are_refused(deploy: Deploy, voc: Tiny) -> None:
    run = deploy(voc.arguments("--calibration-image", voc.folder / "none"))
    assert run.code == 2
    assert "calibration images with precision fp32: they have no effect; leave them out" in run.err


@pytest.mark.parametrize(
    "flags",
    [
        ("--keep-fp32", "conv"),
        ("--calibration-images", "5"),
        ("--precision", "fp16", "--calibration-method", "entropy"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(deploy: Deploy, voc: Tiny, flags: Sequence[str]) -> None:
    run = deploy(voc.arguments(*flags))
    assert run.code == 2
    assert "it has no effect; leave it out" in run.err
