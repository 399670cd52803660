"""A deployment that is not the model any more is caught, whatever was changed in it: the shipped FCN, 12 images."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from pipeline import deploy
from tests.tools.tiny import Run
from zoo.config import config_target, load_config
from zoo.manifest import Manifest, file_record
from zoo.preprocess import Preprocess

ROOT = Path(__file__).parents[2]
CONFIG = str(ROOT / "configs/segmentation/fcn_r18_digits.py")
CLASSES = 11
pytestmark = pytest.mark.slow  # make test plants faults in tests/pipeline/alignment and tests/pipeline/parity


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a good deployment of the FCN in it; the reference's results are kept between the tests."""
    folder = tmp_path_factory.mktemp("work")
    target = config_target(load_config(CONFIG)).with_(exporter="torchscript")
    deploy(CONFIG, target, work_dir=folder).close()
    return folder


@pytest.fixture
def deployment(work_dir: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return shutil.copytree(next(work_dir.rglob("deployment.json")).parent, tmp_path / "copy")


@pytest.fixture
def verdict(
    work_dir: Path, evaluate: Callable[[Sequence[str]], Run], deployment: Path
) -> Callable[[], tuple[Run, dict[str, Any]]]:
    """Evaluate the copy."""

    def run() -> tuple[Run, dict[str, Any]]:
        file = deployment.with_suffix(".json")
        flags = ["--deployment", str(deployment), "--work-dir", str(work_dir), "--limit", "12", "--resume"]
        return evaluate([CONFIG, *flags, "--json", str(file)]), json.loads(file.read_text())

    return run


def edit_weights(folder: Path, edit: Callable[[np.ndarray], np.ndarray | None]) -> None:
    """Change tensors of model.onnx, and make the manifest's hashes fit: a wrong export, not a damaged file."""
    graph = onnx.load(folder / "model.onnx")
    for tensor in graph.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and (new := edit(numpy_helper.to_array(tensor))) is not None:
            tensor.CopyFrom(numpy_helper.from_array(new.astype(np.float32), tensor.name))
    onnx.save(graph, folder / "model.onnx")
    replace(Manifest.read(folder), files={"model.onnx": file_record(folder / "model.onnx")}).write(folder)


def test_the_copy_itself_passes(verdict: Callable[[], tuple[Run, dict[str, Any]]]) -> None:
    run, found = verdict()
    assert run.code == 0, run.err
    assert found["rows"][1]["verdict"] == "passed"


def test_weights_multiplied(deployment: Path, verdict: Callable[[], tuple[Run, dict[str, Any]]]) -> None:
    edit_weights(deployment, lambda weights: weights * 1.01 if weights.ndim == 4 else None)
    run, found = verdict()
    assert run.code == 3
    assert abs(found["rows"][1]["difference"]) > 0.1
    assert "segmentation/mIoU: copy differs from PyTorch by" in run.err


def test_classes_permuted_in_the_graph(deployment: Path, verdict: Callable[[], tuple[Run, dict[str, Any]]]) -> None:
    edit_weights(deployment, lambda weights: np.roll(weights, 1, axis=0) if weights.shape[:1] == (CLASSES,) else None)
    run, found = verdict()
    assert run.code == 3
    assert found["rows"][1]["difference"] < -20


def test_classes_permuted_in_the_manifest(deployment: Path, verdict: Callable[[], tuple[Run, dict[str, Any]]]) -> None:
    manifest = Manifest.read(deployment)
    replace(manifest, classes=(*manifest.classes[1:], manifest.classes[0])).write(deployment)
    run, _ = verdict()
    assert run.code == 2
    assert "is not of" in run.err
    assert 'its class 0 is "0" with category_id 1, expected "background" with category_id 0;' in run.err


def test_fewer_classes_in_the_manifest(deployment: Path, verdict: Callable[[], tuple[Run, dict[str, Any]]]) -> None:
    manifest = Manifest.read(deployment)
    replace(manifest, classes=manifest.classes[:-1]).write(deployment)
    run, _ = verdict()
    assert run.code == 2
    assert f"it has {CLASSES - 1} classes, expected {CLASSES};" in run.err


def test_another_resize_rule(deployment: Path, verdict: Callable[[], tuple[Run, dict[str, Any]]]) -> None:
    manifest = Manifest.read(deployment)
    replace(manifest, preprocess=Preprocess((256, 320), resize="stretch", interpolation="area")).write(deployment)
    run, _ = verdict()
    assert run.code == 2
    assert "it feeds images by another rule (resize 'stretch', expected 'letterbox', interpolation 'area'" in run.err


def test_other_weights_and_thresholds(deployment: Path, verdict: Callable[[], tuple[Run, dict[str, Any]]]) -> None:
    other = {"sha256": "0" * 64}
    replace(Manifest.read(deployment), checkpoint=other, config=other).write(deployment)
    run, _ = verdict()
    assert run.code == 2
    assert "its architecture or thresholds differ" in run.err
    assert "its weights differ (sha256 000000000000, expected" in run.err
