"""Deploys for OpenVINO, from the command line to the results."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import openvino
import pytest
from safetensors.torch import save_file

from backends import load
from tests.rewriters.small_models import small_segmentor
from tests.tools.conftest import in_this_process
from tests.tools.test_slide_host import MODEL
from tests.tools.tiny import Run, Tiny
from zoo.manifest import Manifest

Tool = Callable[[Sequence[str]], Run]
SRCNN = Path(__file__).parents[2] / "configs/restoration/srcnn_x3_photographs.py"


def deployed(deploy: Tool, tiny: Tiny, *more: object) -> Path:
    run = deploy(tiny.with_images("--backend", "openvino", *more))
    assert (run.code, run.err) == (0, "")
    assert "parity: passed" in run.out
    (path,) = (path for path in tiny.work_dir.rglob("deployment.json") if path.parent.name.startswith("openvino"))
    return path.parent


def test_a_dynamic_deployment_is_proved_recorded_and_aligned(
    deploy: Tool, tiny: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    place = deployed(deploy, tiny, "--dynamic", "height=32:64:128", "width=32:96:128")
    manifest = Manifest.read(place)
    assert (manifest.backend, manifest.provider, manifest.parity) == ("openvino", "cpu", {"verdict": "passed"})
    assert manifest.precision == {
        "stored": "fp32",
        "computed": "fp32",
        "nodes": {"stored": {"float32": 1}, "computed": {"float32": 1}},
    }
    assert manifest.versions["openvino"] == manifest.proved_on["versions"]["openvino"]  # type: ignore[index]
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "openvino, cpu" in page  # timed
    assert "What computes in which type" in page
    images = [np.asarray(cv2.imread(str(path))) for path in tiny.images]
    with load(place, threads=1) as model, load(place, threads=1, cache=tiny.folder / "cache") as kept:
        for size in ((64, 96), (40, 56)):
            resized = [cv2.resize(image, size[::-1]) for image in images]
            for one, other in zip(model(resized), kept(resized), strict=True):
                assert one.label_map.shape == size
                np.testing.assert_array_equal(one.label_map, other.label_map)
    align = in_this_process("align", capsys)
    out = tiny.folder / "align.json"
    image_flags = ["--image", *map(str, tiny.images)]
    assert align([str(tiny.config), "--deployment", str(place), "--json", str(out), *image_flags]).code == 0
    assert json.loads(out.read_text())["by_pieces"] is True


def test_a_device_that_is_not_here_is_found_out_before_the_export(deploy: Tool, tiny: Tiny) -> None:
    for device, code, words in (
        ("npu", 4, "device npu: OpenVINO"),
        ("cuda:0", 2, 'device "cuda:0": expected cpu, gpu, gpu:N, npu or auto'),
    ):
        if device == "npu" and "NPU" in openvino.Core().available_devices:
            continue
        run = deploy(tiny.with_images("--backend", "openvino", "--device", device))
        assert (run.code, run.err.count("\n")) == (code, 1)
        assert words in run.err


@pytest.mark.slow
def test_windows_are_cut_on_the_host(deploy: Tool, tiny: Tiny) -> None:
    tiny.write(MODEL)
    model = small_segmentor(classes=4, crop_size=(32, 48), stride=(20, 32), blend="gaussian")
    save_file(model.state_dict(), tiny.folder / "tiny.safetensors")
    place = deployed(deploy, tiny, "--slide", "host", "--window-batch", "3", "--exporter", "dynamo", "--opset", "18")
    run = deploy(tiny.with_images("--slide", "host", "--window-batch", "3", "--exporter", "dynamo", "--opset", "18"))
    assert (run.code, run.err) == (0, "")
    other = place.with_name(place.name.replace("openvino", "onnxruntime"))
    image = np.random.default_rng(0).integers(0, 256, (90, 130, 3)).astype(np.uint8)
    with load(place) as ours, load(other) as theirs:
        np.testing.assert_array_equal(ours(image).label_map, theirs(image).label_map)


@pytest.mark.slow
def test_int8_of_the_same_graph(deploy: Tool, tmp_path: Path) -> None:
    """And OpenVINO by itself still loses SRCNN's sum, so that the guard is still needed."""
    run = deploy([str(SRCNN), "--backend", "openvino", "--precision", "int8", "--work-dir", str(tmp_path)])
    assert (run.code, run.err) == (0, "")
    (path,) = tmp_path.rglob("deployment.json")
    manifest = Manifest.read(path.parent)
    assert manifest.precision["computed"] == "int8"
    assert manifest.precision["nodes"]["computed"] == {"int8": 3}
    core = openvino.Core()
    content = (path.parent / "model.onnx").read_bytes()
    model = core.compile_model(core.read_model(content), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    try:
        (found,) = model.create_infer_request().infer({"images": np.zeros((1, 3, 40, 50), np.float32)}).values()
    except RuntimeError as error:
        assert "incompatible with provided dimensions" in str(error)  # noqa: PT017 - it may also say nothing
    else:
        assert found.shape == (0, 0, 0, 0)
