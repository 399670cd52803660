"""The other verbs of the command line, and lower precisions, on a detector of rotated boxes of random weights."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from backends import load
from pipeline import deploy
from tests.pipeline.test_rotated_detection import written
from tests.tools.conftest import Run, in_this_process
from zoo.datasets import RotatedDigits
from zoo.manifest import Manifest
from zoo.tasks.rotated_detection.dota import dota_text

pytestmark = pytest.mark.slow  # six deploys of a small model

MATRIX = """models: [{config}]
backends: [onnxruntime]
precisions: [fp32]
exporters: [torchscript]
limit: 2
timeout_seconds: 3600
"""
JUDGED = """
dataset = dict(type="DotaDetection", images="images", annotations="labelTxt")
calibration_dataset = dict(type="ImageFolder", root="calibration")
gates = dict(metric=dict(points=100.0))
"""
"""The truth is what the deployment in fp32 finds: of random weights no other has a figure above 0."""
Verb = Callable[..., Run]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small.py, its checkpoint, the deployment `small`, and two images."""
    folder, dataset = tmp_path_factory.mktemp("verbs"), RotatedDigits()
    for name, indices in (("images", (2, 5)), ("calibration", (7, 8, 9))):
        (folder / name).mkdir()
        for index in indices:
            pixels = cv2.resize(dataset[index]["image"], (124, 92), interpolation=cv2.INTER_AREA)
            cv2.imwrite(str(folder / name / f"{index}.png"), pixels)
    config, images = written(folder), sorted((folder / "images").iterdir())
    deploy(config, images=images, work_dir=folder / "work").close()
    shutil.copytree(folder / "work" / "rotated-detection" / "small" / "onnxruntime-fp32", folder / "small")
    (folder / "labelTxt").mkdir()
    with load(folder / "small") as model:
        for image in images:
            text = dota_text(model(cv2.imread(str(image))).dota())
            (folder / "labelTxt" / f"{image.stem}.txt").write_text(text, encoding="utf-8")
    config.write_text(config.read_text(encoding="utf-8") + JUDGED, encoding="utf-8")
    return folder


@pytest.fixture
def verb(capsys: pytest.CaptureFixture[str], made: Path, monkeypatch: pytest.MonkeyPatch) -> Verb:
    """verb("evaluate", ...) in the folder."""
    monkeypatch.chdir(made)

    def run(name: str, *arguments: object) -> Run:
        return in_this_process(name, capsys)([str(argument) for argument in arguments])

    return run


def test_a_matrix_of_one_cell_passes(verb: Verb, made: Path, tmp_path: Path) -> None:
    (made / "one.yaml").write_text(MATRIX.format(config=made / "small.py"), encoding="utf-8")
    done = verb("regression", "one.yaml", "--work-dir", tmp_path / "cells", "--json", tmp_path / "cells.json")
    assert done.code == 0, done.err
    (cell,) = json.loads((tmp_path / "cells.json").read_text(encoding="utf-8"))["cells"]
    assert cell["state"] == "passed"
    assert cell["measured"]["images"] == 2


def test_a_deployment_checks_itself(verb: Verb) -> None:
    done = verb("check", "small")
    assert done.code == 0, done.err


def test_a_benchmark_measures_it(verb: Verb) -> None:
    done = verb("benchmark", "small", "--image", "images/2.png", "--rounds", 3, "--cold", 0)
    assert done.code == 0, done.err
    assert "images/s" in done.out


def test_two_deployments_are_compared(verb: Verb, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "small", tmp_path / "other")
    done = verb("report", "small", tmp_path / "other", "--out", tmp_path / "both.html")
    assert done.code == 0, done.err
    assert (tmp_path / "both.html").read_text(encoding="utf-8").count("data:image/") >= 2


@pytest.mark.parametrize(("precision", "stored"), [("fp16", "float16"), ("int8", "int8")])
def test_a_lower_precision_is_deployed_and_runs(precision: str, stored: str, verb: Verb, tmp_path: Path) -> None:
    images = ("--image", "images/2.png", "images/5.png")
    done = verb("deploy", "small.py", *images, "--precision", precision, "--work-dir", tmp_path)
    assert done.code == 0, done.err
    (place,) = tmp_path.glob(f"rotated-detection/small/onnxruntime-{precision}*")
    assert (Manifest.read(place).precision or {})["nodes"]["stored"][stored] > 40
    found = verb("predict", place, "images/2.png", "--out", tmp_path / "out")
    assert found.code == 0, found.err
    boxes = json.loads((tmp_path / "out" / "2.json").read_text(encoding="utf-8"))
    assert np.isfinite([entry["box"] for entry in boxes]).all()


def test_the_modules_that_int8_harms_are_ranked(verb: Verb, tmp_path: Path) -> None:
    done = verb("sensitivity", "small.py", "--images", 2, "--depth", 1, "--json", tmp_path / "harm.json")
    assert done.code == 0, done.err
    modules = [row["module"] for row in json.loads((tmp_path / "harm.json").read_text(encoding="utf-8"))["modules"]]
    assert {"backbone", "head"} <= {name.partition(".")[0] for name in modules}


def test_a_choice_of_modules_in_fp32_is_judged(verb: Verb, tmp_path: Path) -> None:
    done = verb(
        *("what-if", "small.py", "--keep-fp32", "head", "--limit", 2, "--tolerance", 100),
        *("--json", tmp_path / "choices.json"),
    )
    assert done.code == 0, done.err
    trials = json.loads((tmp_path / "choices.json").read_text(encoding="utf-8"))["trials"]
    assert [trial["keep_fp32"] for trial in trials] == [[], ["head"]]
