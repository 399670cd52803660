"""tools/align.py on the tiny model: verdicts, exit codes, and one line for each mistake."""

import json
from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper

from tests.pipeline.alignment.planted import perturb
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run, Tiny

pytestmark = pytest.mark.usefixtures("no_plots")


def align(capsys: pytest.CaptureFixture[str], tiny: Tiny, *more: object) -> Run:
    arguments = [str(tiny.config), "--image", *map(str, tiny.images), *map(str, more)]
    return in_this_process("align", capsys)(arguments)


@pytest.fixture
def file(deployment: Path) -> Path:
    """The graph of a deployment of the tiny model."""
    return deployment / "model.onnx"


def test_a_fresh_export_is_equal(tiny: Tiny, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = tmp_path / "found.json"
    run = align(capsys, tiny, "--json", data)
    assert run.code == 0, run.err
    assert "no module is past 0.0001" in run.out
    found = json.loads(data.read_text())
    assert found["passed"] is True
    assert found["first"] is None
    assert found["images"] == ["one.png", "two.png"]
    assert [pair["name"] for pair in found["pairs"]] == ["conv"]
    assert found["outputs_changed_by_extra_outputs"] == 0.0


def test_a_deployment_and_its_file_are_the_same_graph(
    tiny: Tiny, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_folder, by_file = align(capsys, tiny, "--deployment", tiny.place), align(capsys, tiny, "--onnx", file)
    assert (by_folder.code, by_file.code) == (0, 0), by_folder.err + by_file.err


def test_a_file_without_that_of_its_weights_is_one_line(
    tiny: Tiny, file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    onnx.save(onnx.load(file), tmp_path / "edited.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    run = align(capsys, tiny, "--onnx", tmp_path / "edited.onnx")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "copy the file of its weights beside it" in run.err


def test_a_fault_in_the_file_is_exit_code_3_and_named_on_one_line(
    tiny: Tiny, file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = onnx.load(file)
    perturb(model, "conv")
    onnx.save(model, tmp_path / "edited.onnx")
    data = tmp_path / "found.json"
    run = align(capsys, tiny, "--onnx", tmp_path / "edited.onnx", "--json", data)
    assert run.code == 3
    assert run.err.startswith("error: tiny: first module past 0.0001: conv, relative error")
    assert run.err.count("\n") == 1
    assert "differs, inputs equal" in " ".join(run.out.split())
    assert json.loads(data.read_text())["first"] == "conv"
    pieces = align(capsys, tiny, "--onnx", tmp_path / "edited.onnx", "--by-pieces")
    assert pieces.code == 3
    assert "its piece also differs alone" in " ".join(pieces.out.split())


def test_not_a_number_is_past_every_threshold(
    tiny: Tiny, file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = onnx.load(file)
    bias = next(tensor for tensor in model.graph.initializer if tensor.dims == [4])
    array = numpy_helper.to_array(bias).copy()
    array[0] = float("nan")
    bias.CopyFrom(numpy_helper.from_array(array, bias.name))
    onnx.save(model, tmp_path / "edited.onnx")
    run = align(capsys, tiny, "--onnx", tmp_path / "edited.onnx", "--threshold", "0.9")
    assert run.code == 3
    assert "conv, relative error inf" in run.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--onnx", "no.onnx"), "no.onnx: no such file"),
        (("--threshold", "2"), "threshold 2: expected a fraction of a tensor's largest value"),
        (("--deployment", "nowhere"), "--deployment nowhere: no such folder"),
        (("--deployment", "docs"), "no deployment.json"),
        (("--deployment", "x", "--exporter", "dynamo"), "the deployment has its own"),
        (("--output-level", "plugin"), "level plugin"),
        (("--precison", "fp32"), 'nearest: "--precision"'),
    ],
)
def test_a_mistake_is_one_line(
    tiny: Tiny, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    run = align(capsys, tiny, *arguments)
    assert run.code == 2
    assert words in run.err
    assert run.err.count("\n") == 1


def test_a_file_of_other_inputs_is_a_mistake(
    tiny: Tiny, file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = onnx.load(file)
    model.graph.input.append(onnx.helper.make_tensor_value_info("more", onnx.TensorProto.FLOAT, [1]))
    onnx.save(model, tmp_path / "other.onnx")
    run = align(capsys, tiny, "--onnx", tmp_path / "other.onnx")
    assert run.code == 2
    assert "takes images, more" in run.err


def test_no_engine_is_exit_code_4_in_one_line(
    tiny: Tiny, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    running = pytest.importorskip("backends.tensorrt.running")
    monkeypatch.setattr(running, "can_run", lambda backend, device: "there is no NVIDIA driver")
    monkeypatch.setattr("backends.tensorrt.backend.TensorRT.lack", lambda backend: None)
    monkeypatch.setattr("backends.tensorrt.backend.TensorRT.import_library", lambda backend: None)
    run = align(capsys, tiny, "--onnx", file, "--backend", "tensorrt-rtx")
    assert run.code == 4
    assert "no engine can run here" in run.err
    assert "there is no NVIDIA driver" in run.err
    assert run.err.count("\n") == 1
