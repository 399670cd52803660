"""The other verbs of the command line, and lower precisions, on a detector of rotated boxes of random weights."""

import shutil
from pathlib import Path

import cv2
import pytest

from backends import load
from pipeline import deploy
from tests.pipeline.verbs.test_rotated_detection import written
from tests.pipeline.verbs.verb_checks import (
    Verb,
    check_comparison,
    check_lower_precision,
    check_matrix,
    check_self_test,
    check_sensitivity,
    check_what_if,
    verb_in,
)
from zoo.datasets import RotatedDigits
from zoo.tasks.rotated_detection.dota import dota_text

pytestmark = pytest.mark.slow  # six deploys of a small model

JUDGED = """
dataset = dict(type="DotaDetection", images="images", annotations="labelTxt")
calibration_dataset = dict(type="ImageFolder", root="calibration")
"""
"""The truth is what the deployment in fp32 finds: of random weights no other has a figure above 0."""


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
    return verb_in(made, capsys, monkeypatch)


def test_a_matrix_of_one_cell_passes(verb: Verb, made: Path, tmp_path: Path) -> None:
    check_matrix(verb, made / "small.py", tmp_path)


def test_a_deployment_checks_itself(verb: Verb) -> None:
    check_self_test(verb, "small")


def test_a_benchmark_measures_it(verb: Verb) -> None:
    done = verb("benchmark", "small", "--image", "images/2.png", "--rounds", 3, "--cold", 0)
    assert done.code == 0, done.err
    assert "images/s" in done.out


def test_two_deployments_are_compared(verb: Verb, tmp_path: Path) -> None:
    check_comparison(verb, "small", tmp_path)


@pytest.mark.parametrize(
    ("precision", "gate"),
    [("fp16", ""), ("int8", "gates = dict(metric=dict(points=60.0))")],  # random weights lose 29 points in int8
)
def test_a_lower_precision_is_deployed_and_runs(
    precision: str, gate: str, verb: Verb, made: Path, tmp_path: Path
) -> None:
    config = made / f"{precision}.py"
    config.write_text(f'_base_ = ["small.py"]\n{gate}\n', encoding="utf-8")
    check_lower_precision(verb, config, precision, made / "images" / "2.png", tmp_path)


def test_the_modules_that_int8_harms_are_ranked(verb: Verb, tmp_path: Path) -> None:
    check_sensitivity(verb, "small.py", {"backbone", "head"}, tmp_path)


def test_a_choice_of_modules_in_fp32_is_judged(verb: Verb, tmp_path: Path) -> None:
    check_what_if(verb, "small.py", tmp_path)
