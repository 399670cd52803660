"""tools/evaluate.py from end to end, on a tiny model and a small data set in VOC's layout."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import numpy_helper
from safetensors.torch import load_file, save_file

from pipeline.evaluation.result_store import ResultStore
from tests.backends.conftest import rewrite_manifest
from tests.tools.tiny import SIZE, Run, Tiny
from zoo.manifest import Manifest, file_record

pytestmark = pytest.mark.usefixtures("no_plots")

EVALUATE_TINY = Path(__file__).with_name("evaluate_tiny.py")
ROOT = Path(__file__).parents[2]
Evaluate = Callable[[Sequence[str]], Run]


def measured(evaluate: Evaluate, voc: Tiny, *more: object, code: int = 0) -> dict[str, Any]:
    file = voc.folder / "found.json"
    run = evaluate([*voc.arguments(*more), "--json", str(file)])
    assert run.code == code, run.err
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def figures(found: dict[str, Any]) -> list[Any]:
    """What must be the same on every run: all but names, times and how much was resumed."""
    return [[row[key] for key in ("figures", "difference", "interval", "gate", "verdict")] for row in found["rows"]]


def in_a_process(voc: Tiny, *more: str, launcher: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *launcher, str(EVALUATE_TINY), *voc.arguments(*more)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_pytorch_and_onnxruntime_side_by_side(voc: Tiny, evaluate: Evaluate) -> None:
    run = evaluate(voc.arguments())
    assert run.code == 0, run.err
    table = run.out
    assert "7 images of VOCSegmentation" in table
    assert re.search(r"pytorch +\d+\.\d\d .* reference", table)
    assert re.search(r"onnxruntime-fp32 +\d+\.\d\d +\+0\.000 +\S+ to \S+ +0\.1 .* passed", table)
    assert "segmentation/mAcc" in table
    assert (voc.place / "deployment.json").is_file(), "it deployed what was not deployed yet"


@pytest.mark.usefixtures("deployment")
def test_what_is_printed_is_written_as_data(voc: Tiny, evaluate: Evaluate) -> None:
    found = measured(evaluate, voc)
    assert found["dataset"] == {"type": "VOCSegmentation", "images": 7}
    assert (found["metric"], found["unit"]) == ("segmentation/mIoU", "points")
    reference, deployed = found["rows"]
    assert 50 < reference["figures"]["segmentation/mIoU"] < 95, "a metric that has something to lose"
    assert deployed["deployment"] == str(voc.place)
    assert deployed["latency_ms"]["p90"] >= deployed["latency_ms"]["p50"] > 0


@pytest.mark.usefixtures("deployment")
def test_a_deployment_that_is_there_is_used(voc: Tiny, evaluate: Evaluate) -> None:
    before = (voc.place / "deployment.json").stat().st_mtime_ns
    measured(evaluate, voc, "--backend", "onnxruntime")
    assert (voc.place / "deployment.json").stat().st_mtime_ns == before


@pytest.mark.usefixtures("deployment")
def test_a_deployment_of_older_weights_is_made_again(voc: Tiny, evaluate: Evaluate) -> None:
    shift_weights(voc)
    before = (voc.place / "deployment.json").stat().st_mtime_ns
    found = measured(evaluate, voc)
    assert (voc.place / "deployment.json").stat().st_mtime_ns != before
    assert found["rows"][1]["verdict"] == "passed"


def shift_weights(voc: Tiny) -> None:
    state = load_file(voc.folder / "tiny.safetensors")
    save_file({name: tensor * 1.5 for name, tensor in state.items()}, voc.folder / "tiny.safetensors")


@pytest.mark.usefixtures("deployment")
def test_the_first_images_alone(voc: Tiny, evaluate: Evaluate) -> None:
    assert measured(evaluate, voc, "--limit", 3)["dataset"]["images"] == 3
    assert measured(evaluate, voc, "--limit", 300)["dataset"]["images"] == 7


def test_pytorch_alone(voc: Tiny, evaluate: Evaluate) -> None:
    assert [row["name"] for row in measured(evaluate, voc, "--backend", "pytorch")["rows"]] == ["pytorch"]
    assert not voc.place.exists()


@pytest.mark.usefixtures("deployment")
def test_batches_give_the_same_figures(voc: Tiny, evaluate: Evaluate) -> None:
    assert figures(measured(evaluate, voc)) == figures(measured(evaluate, voc, "--batch-size", 3))


@pytest.mark.usefixtures("deployment")
def test_drawn_results(voc: Tiny, evaluate: Evaluate) -> None:
    measured(evaluate, voc, "--limit", 2, "--show-dir", voc.folder / "drawn")
    drawn = sorted(path.relative_to(voc.folder / "drawn").as_posix() for path in voc.folder.glob("drawn/*/*"))
    assert drawn == [
        f"{name}/{image}" for name in ("onnxruntime-fp32", "pytorch") for image in ("000000_0.jpg", "000001_1.jpg")
    ]


def test_a_deployment_of_another_size_is_fed_by_the_configs_rule(
    voc: Tiny, evaluate: Evaluate, deploy: Evaluate
) -> None:
    assert deploy(voc.arguments("--dynamic", "height=96:96:96")).code == 0
    folder = voc.place.with_name("onnxruntime-fp32-height96")
    found = measured(evaluate, voc, "--deployment", folder)
    assert [row["name"] for row in found["rows"]] == ["pytorch, 96x96", folder.name]
    assert found["rows"][1]["verdict"] == "passed"


def test_dynamic_sizes_are_fed_as_they_are(voc: Tiny, evaluate: Evaluate, deploy: Evaluate) -> None:
    assert deploy(voc.arguments("--dynamic", "height", "width")).code == 0
    folder = next(voc.place.parent.glob("onnxruntime-fp32-height*"))
    found = measured(evaluate, voc, "--deployment", folder, "--batch-size", 4)
    assert [row["name"] for row in found["rows"]] == ["pytorch, own sizes", folder.name]
    assert found["rows"][1]["verdict"] == "passed"


@pytest.mark.slow  # make test resumes in tests/pipeline/evaluation
def test_an_interrupted_run_goes_on(voc: Tiny, evaluate: Evaluate) -> None:
    whole = measured(evaluate, voc)
    command = [sys.executable, str(EVALUATE_TINY), *voc.arguments()]
    environment = os.environ | {"PAUSE_AFTER_EACH_IMAGE": "0.2"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as running:
        assert running.stdout is not None
        for _ in range(3):
            while running.stdout.readline() != "image\n":
                assert running.poll() is None
        running.send_signal(signal.SIGKILL)
    again = measured(evaluate, voc, "--resume")
    assert 3 <= again["rows"][0]["images_resumed"] < 7
    assert figures(again) == figures(whole)
    assert measured(evaluate, voc)["rows"][0]["images_resumed"] == 0, "without --resume all is run again"


@pytest.mark.slow
def test_two_processes_give_exactly_the_figures_of_one(voc: Tiny, evaluate: Evaluate) -> None:
    whole = measured(evaluate, voc)
    file = voc.folder / "two.json"
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone")
    run = in_a_process(voc, "--launcher", "pytorch", "--json", str(file), launcher=torchrun)
    assert run.returncode == 0, run.stderr
    found = json.loads(file.read_text())
    assert figures(found) == figures(whole), "7 images: an uneven split"
    assert [row["images_resumed"] for row in found["rows"]] == [0, 0], "the image that fills up the split is none"
    assert run.stdout.count("7 images of VOCSegmentation") == 1, "the first process reports"


@pytest.mark.slow
def test_two_processes_without_a_metric(voc: Tiny) -> None:
    config = voc.config.read_text().replace("evaluator =", "_evaluator =")
    voc.config.write_text(config)
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone")
    run = in_a_process(voc, "--launcher", "pytorch", "--backend", "pytorch", launcher=torchrun)
    assert run.returncode == 0, run.stderr
    assert "7 images of VOCSegmentation" in run.stdout


@pytest.mark.usefixtures("deployment")
def test_two_deployments_of_one_name(voc: Tiny, evaluate: Evaluate) -> None:
    folders = [shutil.copytree(voc.place, voc.folder / name) for name in ("pytorch", "a b", "other/a_b")]
    found = measured(evaluate, voc, *(part for folder in folders for part in ("--deployment", folder)))
    assert [row["name"] for row in found["rows"]] == ["pytorch", "pytorch (2)", "a b", "a_b (2)"]
    kept = sorted(path.name for path in voc.work_dir.glob("*/*/evaluation/*.sqlite"))
    assert kept == ["a_b.sqlite", "a_b_2_.sqlite", "pytorch.sqlite", "pytorch_2_.sqlite"]


def test_an_image_that_changed_is_run_again(voc: Tiny, evaluate: Evaluate) -> None:
    measured(evaluate, voc, "--backend", "pytorch")
    image = voc.folder / "voc/JPEGImages/3.jpg"
    image.write_bytes(image.read_bytes() + b"more")
    assert measured(evaluate, voc, "--backend", "pytorch", "--resume")["rows"][0]["images_resumed"] == 6


def test_code_beside_the_config_that_changed_runs_all_again(voc: Tiny, evaluate: Evaluate) -> None:
    module = voc.folder / "code_of_ones_own.py"
    module.write_text("")
    voc.config.write_text('custom_imports = dict(imports=["code_of_ones_own"])\n' + voc.config.read_text())
    measured(evaluate, voc, "--backend", "pytorch")
    for code, resumed in (("", 7), ("CHANGED = True", 0)):
        module.write_text(code)
        table = measured(evaluate, voc, "--backend", "pytorch", "--resume")
        assert [row["images_resumed"] for row in table["rows"]] == [resumed]


@pytest.mark.slow
@pytest.mark.usefixtures("deployment")
def test_another_version_of_the_runtime_runs_all_again(
    voc: Tiny, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = rewrite_manifest(voc.place, backend="openvino")
    for number, resumed in (("1", 0), ("1", 7), ("2", 0)):
        monkeypatch.setattr("zoo.installed_versions._installed_version", {"openvino": number}.get)
        monkeypatch.setattr("zoo.installed_versions._imported", lambda _: None)
        table = measured(evaluate, voc, "--deployment", folder, "--resume")
        assert table["rows"][1]["images_resumed"] == resumed


@pytest.mark.usefixtures("deployment")
def test_a_device_is_one_of_the_deployments_backend(voc: Tiny, evaluate: Evaluate) -> None:
    """OpenVINO has "auto", ONNX Runtime has not."""
    folder = rewrite_manifest(voc.place, backend="openvino", provider="cpu")
    run = evaluate(voc.arguments("--deployment", folder, "--device", "auto"))
    assert (run.code, run.err) == (0, "")
    run = evaluate(voc.arguments("--deployment", folder, "--device", "cuda"))
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert run.err.startswith('error: device "cuda": expected cpu, gpu')


def test_a_full_disk_is_one_line(voc: Tiny, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(ResultStore, "put", full)
    run = evaluate(voc.arguments("--backend", "pytorch"))
    assert run.code == 2
    assert re.search(r"evaluation: cannot be written \(.*: database or disk is full\); make it writable", run.err)


def test_an_interruption_says_how_to_go_on(voc: Tiny, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ResultStore, "put", interrupt)
    run = evaluate(voc.arguments("--backend", "pytorch"))
    assert (run.code, run.err) == (130, "interrupted; continue with --resume\n")


def test_an_environment_with_a_rank_does_not_silence_it(
    voc: Tiny, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    assert measured(evaluate, voc, "--backend", "pytorch")["rows"]


@pytest.mark.usefixtures("deployment")
def test_a_missed_gate_is_exit_3_with_all_figures(voc: Tiny, evaluate: Evaluate) -> None:
    graph = onnx.load(voc.place / "model.onnx")
    for weight in graph.graph.initializer:
        if weight.dims == [4]:
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * 1.2, weight.name))
    onnx.save(graph, voc.place / "model.onnx")
    manifest = Manifest.read(voc.place)
    replace(manifest, files={"model.onnx": file_record(voc.place / "model.onnx")}).write(voc.place)
    found = measured(evaluate, voc, "--deployment", voc.place, code=3)
    assert found["exit_code"] == 3
    assert found["rows"][1]["verdict"] == "missed"
    assert re.match(r"segmentation/mIoU: onnxruntime-fp32 differs from PyTorch by -\d", found["error"])


@pytest.mark.usefixtures("deployment")
def test_a_deployment_of_another_size_is_made_again(voc: Tiny, evaluate: Evaluate) -> None:
    """The config's own sizes are not in the folder's name."""
    text = voc.config.read_text()
    voc.config.write_text(text.replace(f"size={SIZE}", "size=(32, 64)"))
    assert voc.config.read_text() != text
    measured(evaluate, voc, "--backend", "onnxruntime")
    assert Manifest.read(voc.place).inputs[0].shape[2:] == (32, 64)


def test_another_data_set_runs_all_again(voc: Tiny, evaluate: Evaluate) -> None:
    measured(evaluate, voc, "--backend", "pytorch")
    text, names = voc.config.read_text(), voc.folder / "voc/ImageSets/Segmentation/val.txt"
    for more, resumed in (("", 7), (f'dataset.update(only="{names}")\n', 0)):
        voc.config.write_text(text + more)
        found = measured(evaluate, voc, "--backend", "pytorch", "--resume")
        assert found["rows"][0]["images_resumed"] == resumed


def test_an_image_that_went_away_is_one_line(voc: Tiny, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(_self: object, _number: int) -> dict[str, Any]:
        return {"path": str(voc.folder / "gone.jpg")}

    monkeypatch.setattr("zoo.datasets.evaluation_dataset.EvaluationDataset.__getitem__", without)
    run = evaluate(voc.arguments("--backend", "pytorch"))
    assert run.code == 2
    assert "gone.jpg: cannot be read (No such file or directory); put it back" in run.err
    assert "make it writable" not in run.err
