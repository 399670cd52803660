"""The other verbs of the command line on a detector of point clouds: each with the smallest model that it needs."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline import deploy
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
from tests.rewriters.small_pillars import find_things
from zoo import build_model
from zoo.config import read_config
from zoo.datasets.kitti.writing import write_kitti
from zoo.datasets.streets.as_kitti import frames
from zoo.datasets.streets.scene import make_scene

pytestmark = pytest.mark.slow  # four deploys of a tiny model

CONFIGS_3D = Path(__file__).resolve().parents[3] / "configs" / "detection3d"
CONFIG = """_base_ = ["{base}"]
model = dict(pillar_size=1.28, pillar_channels=8, channels=(8, 8), depths=(1, 1), strides=(1, 2), up_channels=(8, 8))
model.update(head_channels=8, score_thresh=0.5, topk_candidates=40, detections_per_img=20)
checkpoint = "tiny.pth"
dataset = dict(count=3)
gate_dataset = dict(split="shipped", count=3)
calibration_dataset = dict(type="Streets", split="train", count=2)
evaluator = dict(_delete_=True, type="CentreDistanceMAP")
export = dict(exporter="torchscript", inputs=dict(batch=1, count=(1, 4096, 20000)))
export.update(precision=dict(int8=dict(keep_fp32=[])))
"""
OF_KITTI = """_base_ = ["tiny.py"]
card = None
train_dataset = None
dataset = dict(_delete_=True, type="KittiDataset", root="{root}", split="train")
evaluator = dict(_delete_=True, type="KittiAP")
"""
LOWER = """_base_ = ["{base}"]
card = None
gate_dataset = dict(split="shipped", count=16)
calibration_dataset = dict(type="Streets", split="train", count=8)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tiny.py, its checkpoint, the deployment `tiny`, and a cloud."""
    folder = tmp_path_factory.mktemp("verbs")
    config = folder / "tiny.py"
    config.write_text(CONFIG.format(base=CONFIGS_3D / "centerpoint-pillars_streets.py"), encoding="utf-8")
    torch.manual_seed(0)
    clouds = [torch.from_numpy(make_scene("train", number).points) for number in range(2)]
    model = find_things(build_model(read_config(config), weights=False), clouds)
    torch.save(model.state_dict(), folder / "tiny.pth")
    deploy(config, work_dir=folder / "work").close()
    shutil.copytree(folder / "work" / "detection3d" / "tiny" / "onnxruntime-fp32", folder / "tiny")
    np.save(folder / "cloud.npy", make_scene("train", 2).points)
    return folder


@pytest.fixture
def verb(capsys: pytest.CaptureFixture[str], made: Path, monkeypatch: pytest.MonkeyPatch) -> Verb:
    return verb_in(made, capsys, monkeypatch)


def test_a_folder_in_kittis_layout_is_evaluated(verb: Verb, made: Path, tmp_path: Path) -> None:
    for _ in write_kitti(tmp_path / "kitti", "train", frames("train", 3)):
        pass
    (made / "of_kitti.py").write_text(OF_KITTI.format(root=tmp_path / "kitti"), encoding="utf-8")
    done = verb("evaluate", "of_kitti.py", "--deployment", "tiny", "--json", tmp_path / "table.json")
    assert done.code == 0, done.err
    assert "on 3 point clouds of KittiDataset" in done.out
    assert "ms: of a point cloud, from memory to its result" in done.out
    assert " image" not in done.out
    content = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    assert content["dataset"]["images"] == 3
    pytorch, onnxruntime = content["rows"]
    assert pytorch["figures"] == onnxruntime["figures"]
    assert "kitti/3D_moderate" in pytorch["figures"]


@pytest.mark.parametrize("level", ["decoded", "raw"])
def test_a_level_without_results_is_deployed_and_checks_itself(level: str, verb: Verb, tmp_path: Path) -> None:
    done = verb("deploy", "tiny.py", "--output-level", level, "--work-dir", tmp_path)
    assert done.code == 0, done.err
    (place,) = (tmp_path / "detection3d" / "tiny").iterdir()
    assert json.loads((place / "parity.json").read_text(encoding="utf-8"))["verdict"] == "passed"
    check_self_test(verb, str(place))


def test_a_matrix_of_one_cell_passes(verb: Verb, made: Path, tmp_path: Path) -> None:
    check_matrix(verb, made / "tiny.py", tmp_path)


def test_a_benchmark_counts_point_clouds(verb: Verb, tmp_path: Path) -> None:
    page = tmp_path / "benchmark.html"
    done = verb("benchmark", "tiny", "--image", "cloud.npy", "--rounds", 3, "--cold", 0, "--page", page)
    assert done.code == 0, done.err
    assert "point clouds/s" in done.out
    text = page.read_text(encoding="utf-8")
    points = len(np.load("cloud.npy"))
    assert re.search(rf"point clouds</\w+>\s*<\w+[^>]*>{points} points<", text)
    assert "Point clouds a second" in text
    assert "image" not in re.sub(r"<script.*?</script>|<style.*?</style>|data:image", "", text, flags=re.DOTALL)


def test_a_deployment_checks_itself(verb: Verb) -> None:
    check_self_test(verb, "tiny")


def test_two_deployments_are_compared(verb: Verb, tmp_path: Path) -> None:
    check_comparison(verb, "tiny", tmp_path)


@pytest.mark.parametrize(
    ("precision", "gate"),
    [("fp16", ""), ("int8", "gates = dict(metric=dict(points=6.0))")],  # 2.9 are lost in int8 on 16 scenes
)
def test_a_lower_precision_is_deployed_and_runs(
    precision: str, gate: str, verb: Verb, made: Path, tmp_path: Path
) -> None:
    """With the shipped weights, because random ones find nothing that the metric could lose."""
    config = tmp_path / "lower.py"
    base = CONFIGS_3D / "centerpoint-pillars_streets.py"
    config.write_text(f"{LOWER.format(base=base)}{gate}\n", encoding="utf-8")
    out = check_lower_precision(verb, config, precision, made / "cloud.npy", tmp_path)
    assert re.search(r"metric: .* on 16 point clouds, PyTorch", out)
    (page,) = (tmp_path / "work").rglob("report.html")
    text = page.read_text(encoding="utf-8")
    assert "Pipeline: a point cloud into the deployment" in text
    assert "What the point clouds exercised" in text


def test_the_modules_that_int8_harms_are_ranked(verb: Verb, tmp_path: Path) -> None:
    check_sensitivity(verb, "tiny.py", {"trunk", "head"}, tmp_path)


def test_a_choice_of_modules_in_fp32_is_judged(verb: Verb, tmp_path: Path) -> None:
    out = check_what_if(verb, "tiny.py", tmp_path)
    assert "on 2 point clouds; PyTorch has" in out
