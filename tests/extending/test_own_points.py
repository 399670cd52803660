"""A model that takes point clouds goes through deploy, load, evaluate, align and the report; nothing takes an image."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from mmengine.config import Config

from backends import load
from pipeline import align, deploy, evaluate
from pipeline.job.job import plan_job
from pipeline.precision.calibration import feeds
from zoo.config import config_target, load_config, read_config
from zoo.errors import GateError, InputError
from zoo.tasks import registry

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).parent / "input_kind"
CONFIG = OWN / "pointnet_bars.py"


def bar(seed: int, count: int, *, standing: bool) -> Any:
    """A cloud of points along a line of 3 m, 0.1 m thick."""
    chance = np.random.default_rng(seed)
    angle = chance.uniform(0, np.pi)
    direction = (0, 0, 1) if standing else (np.cos(angle), np.sin(angle), 0)
    along = chance.uniform(-1.5, 1.5, (count, 1)) * np.array(direction)
    return (along + chance.normal(0, 0.05, (count, 3))).astype(np.float32)


@pytest.fixture(scope="module")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clouds")
    for number in range(8):
        name = ("lying", "standing")[number % 2]
        np.save(folder / f"{name}_{number}.npy", bar(number, 40 + 25 * number, standing=name == "standing"))
    return folder


@pytest.fixture(scope="module")
def config(clouds: Path) -> Config:
    config = read_config(CONFIG)
    config.dataset.root = str(clouds)
    return config


@pytest.fixture(scope="module")
def checkpoint(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    load_config(config)
    from point_clouds_proof import PointNet  # what the config imports

    path = tmp_path_factory.mktemp("weights") / "pointnet.pth"
    torch.save(PointNet().state_dict(), path)
    return path


@pytest.fixture(scope="module")
def deployed(config: Config, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    work_dir = tmp_path_factory.mktemp("work")
    target = config_target(load_config(config)).with_(exporter="torchscript")  # the quick one
    deploy(config, target, checkpoint=checkpoint, work_dir=work_dir).close()
    return work_dir / "point-classification" / "pointnet_bars" / "onnxruntime-fp32-torchscript"


def test_a_deploy_proves_it_at_several_numbers_of_points(deployed: Path) -> None:
    parity = json.loads((deployed / "parity.json").read_text(encoding="utf-8"))
    assert parity["verdict"] == "passed"
    shapes = {tuple(case["shape"]) for case in parity["cases"] if case["kind"] == "graph"}
    assert {shape[1] for shape in shapes} == {128, 163}  # the preferred number, and a second one
    assert {shape[0] for shape in shapes} == {1, 2, 4}
    manifest = json.loads((deployed / "deployment.json").read_text(encoding="utf-8"))
    assert manifest["axes"] == {"batch": {"min": 1, "opt": 2, "max": 4}, "count": {"min": 1, "opt": 128, "max": 1024}}
    assert manifest["preprocess"] == {"scale": 0.5}
    graph = onnx.load(deployed / "model.onnx").graph
    sides = {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in graph.input
    }
    assert sides == {"coordinates": ["batch", "count", 3], "num_points": ["batch"]}


def test_the_input_is_compared_in_its_own_unit(deployed: Path) -> None:
    parity = json.loads((deployed / "parity.json").read_text(encoding="utf-8"))
    figures = {figure["name"]: figure for figure in parity["summary"]["pipeline"]["figures"]}
    assert (figures["input"]["unit"], figures["input"]["gate"]) == ("metres", 1e-6)


def test_clouds_of_different_sizes_share_a_batch(deployed: Path) -> None:
    with load(deployed, check=True) as model:
        several = [bar(20 + number, 10 + 90 * number, standing=number > 2) for number in range(6)]
        together = model(several)
        assert [int(result.labels[0]) for result in together] == [0, 0, 0, 1, 1, 1]
        for cloud, result in zip(several, together, strict=True):
            np.testing.assert_allclose(model(cloud).scores, result.scores, atol=1e-6)
            np.testing.assert_allclose(model(cloud[::-1].copy()).scores, result.scores, atol=1e-6)
        with pytest.raises(InputError, match=r'^input "num_points": got \[6\], expected 1 to 5$'):
            model.runner.run({"coordinates": np.zeros((1, 5, 3), np.float32), "num_points": np.array([6])})
        with pytest.raises(InputError, match="axis count must be 1 to 1024"):
            model(bar(0, 1025, standing=True))
        with pytest.raises(InputError, match=r"^point cloud: got float64 \[5, 3\], expected float32 \[n, 3\]"):
            model(np.zeros((5, 3)))


def test_the_report_shows_it_from_above(deployed: Path) -> None:
    report = (deployed / "report.html").read_text(encoding="utf-8")
    for words in ("both find standing", "lying 0.", "metres"):
        assert words in report
    assert len(list((deployed / "previews").glob("*.png"))) >= 2


def test_padding_that_matters_is_refused(
    config: Config, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from point_clouds_proof import PointNet

    forward = PointNet.forward

    def careless(self: Any, points: Any, num_points: Any = None) -> Any:
        return forward(self, points, None if torch.onnx.is_in_onnx_export() else num_points) + (
            0 if num_points is None else 0.0 * num_points[:, None]
        )

    monkeypatch.setattr(PointNet, "forward", careless)
    target = config_target(load_config(config)).with_(exporter="torchscript")  # the quick one
    with pytest.raises(GateError, match=r"\[4x128x3\]: class \d: score .* gate 0.0005"):
        deploy(config, target, checkpoint=checkpoint, work_dir=tmp_path)


def test_evaluate_takes_its_data_set_and_a_metric(
    config: Config, deployed: Path, checkpoint: Path, tmp_path: Path
) -> None:
    table = evaluate(
        config, deployments=[deployed], checkpoint=checkpoint, work_dir=tmp_path, show_dir=tmp_path / "drawn"
    )
    assert [row.figures["classification/top1"] for row in table.rows] == [100.0, 100.0]
    assert len(list((tmp_path / "drawn").rglob("*.jpg"))) == 16


def test_align_compares_its_modules(config: Config, deployed: Path, checkpoint: Path) -> None:
    alignment = align(config, deployment=deployed, checkpoint=checkpoint)
    assert {"point", "cloud"} <= {module for pair in alignment.pairs for module in pair.modules}
    assert alignment.outputs is not None
    assert not alignment.outputs.failures


def test_clouds_of_a_folder_calibrate(config: Config, clouds: Path) -> None:
    batches = feeds(plan_job(config, None, (), "work_dirs"), 3, images=[clouds])
    assert [batch["coordinates"].shape for batch in batches] == [(1, 128, 3)] * 3
    assert [batch["num_points"].tolist() for batch in batches] == [[40], [90], [128]]


def test_files_that_do_not_fit_are_named(config: Config, tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", bar(0, 1025, standing=True))
    with pytest.raises(
        InputError, match=r"point cloud .*large.npy: its tensor would have count 1025, the target takes"
    ):
        plan_job(config, None, [tmp_path / "large.npy"], "work_dirs")
    (tmp_path / "text.npy").write_text("x")
    with pytest.raises(InputError, match=r"point cloud .*text.npy: not an \.npy file"):
        plan_job(config, None, [tmp_path / "text.npy"], "work_dirs")


def test_predict_reads_and_draws_it(deployed: Path, clouds: Path, tmp_path: Path) -> None:
    """By the tool, in a process that finds kind and task by an entry point, as if their package were installed."""
    facts = tmp_path / "installed" / "point_clouds-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "entry_points.txt").write_text(f"[{registry.ENTRY_POINTS}]\nown = point_clouds\n")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: point_clouds\nVersion: 1.0\n")
    cloud = clouds / "standing_1.npy"
    command = [sys.executable, "tools/predict.py", deployed, "--image", cloud, "--out", tmp_path / "out", "--draw"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, OWN, tmp_path / "installed")))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["standing_1.json", "standing_1_drawn.png"]


def test_the_page_is_made_of_its_code() -> None:
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    for file in (OWN / "point_clouds.py", OWN / "point_clouds_proof.py", CONFIG):
        code = file.read_text(encoding="utf-8")
        assert f"```python\n{code}```" in page, f"docs/extending.md lacks {file.name} as it is"
