"""One package with an extension of every group, found by its entry points alone: each verb of the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.extending.test_own_points import bar

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
OWN = Path(__file__).parent
FOLDERS = ("backend", "task", "input_kind", "family")
ENTRY_POINTS = """
[zooport.backends]
onnx-reference = onnx_reference
[zooport.tasks]
brightness = brightness
points = point_clouds
[zooport.input_kinds]
points = point_clouds
[zooport.families]
brightness = brightness_proof
points = point_clouds_proof
spots = spot_detector
"""
WEIGHTS = """
import sys
import torch
from zoo import build_model
torch.manual_seed(0)
model = build_model(sys.argv[1], weights=False)
if hasattr(model, "head"):
    with torch.no_grad():
        model.head.weight[:10] *= 6  # so that the cells of a detector differ
torch.save(model.state_dict(), sys.argv[2])
"""
CONFIGS = {
    "mean_luma": ("task", "onnx-reference"),
    "pointnet_bars": ("input_kind", "onnxruntime"),
    "spots_digits": ("family", "onnxruntime"),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process in which it is installed."""
    folder = tmp_path_factory.mktemp("installed")
    facts = folder / "extensions-1.0.dist-info"
    facts.mkdir()
    (facts / "entry_points.txt").write_text(ENTRY_POINTS)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: extensions\nVersion: 1.0\n")
    places = [ROOT, folder, *(OWN / name for name in FOLDERS)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))}


@pytest.mark.parametrize("name", CONFIGS)
def test_every_verb_finds_them(name: str, package: dict[str, str], tmp_path: Path) -> None:
    folder, backend = CONFIGS[name]
    text = (OWN / folder / f"{name}.py").read_text(encoding="utf-8")
    text = text.replace("../../../zoo", str(ROOT / "zoo"))
    lines = [line for line in text.splitlines() if not line.startswith("custom_imports")]
    config, checkpoint, work_dir = tmp_path / f"{name}.py", tmp_path / "weights.pth", tmp_path / "work"
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "clouds").mkdir()
    for number in range(4):
        cloud = bar(number, 60 + 25 * number, standing=number % 2 == 1)
        np.save(tmp_path / "clouds" / f"{('lying', 'standing')[number % 2]}_{number}.npy", cloud)

    def run(*command: object) -> str:
        done = subprocess.run(
            [sys.executable, *map(str, command)], cwd=tmp_path, env=package, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-c", WEIGHTS, config, checkpoint)
    given = ("--checkpoint", checkpoint)
    small = ("--dynamic", "batch=1:1:2") if backend != "onnxruntime" else ()
    run("-m", "zooport", "deploy", config, *given, "--backend", backend, "--work-dir", work_dir, *small)
    (manifest,) = work_dir.rglob("deployment.json")
    assert json.loads(manifest.read_text(encoding="utf-8"))["parity"] == {"verdict": "passed"}
    judged = ("--deployment", manifest.parent, *given, "--limit", 2, "--json", tmp_path / "rows.json")
    run("-m", "zooport", "evaluate", config, *judged)
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["rows"]
    assert [row["verdict"] for row in rows] == ["reference", "passed"]
    assert "no module is past" in run("-m", "zooport", "align", config, "--deployment", manifest.parent, *given)
    run("-m", "zooport", "report", "--zoo", work_dir, "--out", tmp_path / "zoo.html")
    assert name in (tmp_path / "zoo.html").read_text(encoding="utf-8")
