"""The shipped configs, with their own weights and images, through the command line."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from backends import load
from tests.examples import slow_but
from tests.tools.tiny import Run
from tests.zoo_configs import ROOT, SHIPPED, buildable
from zoo.datasets.streets.stored import read_scene
from zoo.manifest import Manifest

Deploy = Callable[[Sequence[str]], Run]

SMALLEST = str(ROOT / "configs" / "segmentation" / "fcn_r18_digits.py")
IMAGES = sorted((ROOT / "zoo" / "data" / "digits" / "val" / "images").iterdir())[::8]
SCENES = sorted((ROOT / "zoo" / "data" / "streets" / "shipped").glob("*.npz"))[:8]


def inputs_of(task: str, folder: Path) -> Sequence[Path]:
    """Eight images, of models that enlarge them two, which takes long, or eight point clouds as files."""
    if task != "detection3d":
        return IMAGES[:2] if task == "restoration" else IMAGES
    clouds = [folder / f"{scene.stem}.npy" for scene in SCENES]
    for scene, cloud in zip(SCENES, clouds, strict=True):
        np.save(cloud, read_scene(scene).points)
    return clouds


def test_no_config_is_left_out() -> None:
    assert len(SHIPPED) == 21
    assert len(IMAGES) == len(SCENES) == 8


# A small model is deployed by dynamo on every commit in tests/extending/test_own_task.py.
@pytest.mark.parametrize("exporter", slow_but(("dynamo", "torchscript"), "torchscript"))
def test_the_smallest_shipped_config_on_every_commit(deploy: Deploy, tmp_path: Path, exporter: str) -> None:
    arguments = [SMALLEST, "--exporter", exporter, "--dynamic", "batch=2:2:2", "--work-dir", str(tmp_path)]
    run = deploy([*arguments, "--image", *map(str, IMAGES[:2])])
    assert (run.code, run.err) == (0, "")
    manifest = next(tmp_path.rglob("deployment.json"))
    record = json.loads((manifest.parent / "parity.json").read_text(encoding="utf-8"))
    assert record["verdict"] == "passed"
    assert [case["kind"] for case in record["cases"]].count("pipeline") == 2
    assert {case["shape"][0] for case in record["cases"] if case["kind"] == "graph"} == {2}
    assert record["summary"]["graph"]["matched"] > 0
    images = [cv2.imread(str(path)) for path in IMAGES[:2]]
    with load(manifest.parent) as model:
        assert all(np.unique(result.label_map).size > 1 for result in model(images))


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
@pytest.mark.parametrize("config", buildable(SHIPPED))
def test_a_shipped_config(deploy: Deploy, tmp_path: Path, config: str, exporter: str) -> None:
    contents, paths = [], inputs_of(Path(config).parent.name, tmp_path)
    for work_dir in (tmp_path / "first", tmp_path / "second"):
        arguments = [config, "--exporter", exporter, "--work-dir", str(work_dir), "--image", *map(str, paths)]
        run = deploy(arguments)
        assert run.code == 0, run.err
        assert run.err == ""
        manifest = next(work_dir.rglob("deployment.json"))
        contents.append([manifest.read_bytes(), (manifest.parent / "model.onnx").read_bytes()])
    assert contents[0] == contents[1]
    record = json.loads((manifest.parent / "parity.json").read_text(encoding="utf-8"))
    assert record["verdict"] == "passed"
    most = Manifest.read(manifest.parent).axes["batch"].max
    assert {case["shape"][0] for case in record["cases"] if case["kind"] == "graph"} == {1, 2, min(most, 5)}
    assert record["summary"]["graph"]["matched"] > 0
    page = (manifest.parent / "report.html").stat()
    assert page.st_size < 3_000_000
    with load(manifest.parent) as model:
        inputs = [model.task.kind.read(path) for path in paths]
        assert len(model(inputs)) == len(inputs)
