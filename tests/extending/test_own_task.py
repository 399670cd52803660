"""A task that lives outside of the packages goes through deploy, evaluate, align and the report."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from backends import load
from pipeline import align, deploy, evaluate
from pipeline.training.validation import Validation
from zoo.config import config_target, load_config
from zoo.errors import GateError, InputError
from zoo.tasks import find_task, registry

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).parent / "task"
CONFIG = OWN / "mean_luma.py"
IMAGE = ROOT / "zoo/data/digits/val/images/000003.jpg"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of its model, which it has from the start."""
    load_config(CONFIG)
    from brightness_proof import MeanLuma  # what the config imports

    path = tmp_path_factory.mktemp("weights") / "mean_luma.pth"
    torch.save(MeanLuma().state_dict(), path)
    return path


@pytest.fixture(scope="module")
def deployed(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)  # the config's data set is named from there
        work_dir = tmp_path_factory.mktemp("work")
        deploy(CONFIG, checkpoint=checkpoint, work_dir=work_dir).close()
        yield work_dir / "brightness" / "mean_luma" / "onnxruntime-fp32"


def test_a_deploy_proves_it_by_its_own_gates(deployed: Path) -> None:
    parity = json.loads((deployed / "parity.json").read_text(encoding="utf-8"))
    assert parity["verdict"] == "passed"
    assert (parity["gates"]["graph"]["brightness"], parity["gates"]["pipeline"]["brightness"]) == (0.01, 0.5)
    assert [figure["name"] for figure in parity["summary"]["graph"]["figures"]] == ["brightness"]
    assert len(list((deployed / "previews").glob("*.png"))) >= 2


def test_it_is_loaded_and_says_whether_this_machine_computes_what_was_proved(deployed: Path) -> None:
    with load(deployed, check=True) as model:
        white, black = (np.full((50, 60, 3), level, np.uint8) for level in (255, 0))
        assert [round(float(result.brightness)) for result in model([white, black])] == [255, 0]


def test_the_report_has_its_plot_and_its_words(deployed: Path) -> None:
    report = (deployed / "report.html").read_text(encoding="utf-8")
    for words in ("One point for each image", "brightness: PyTorch against onnxruntime", " apart"):
        assert words in report


def test_a_change_beyond_its_gate_is_refused(tmp_path: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    from brightness_proof import BrightnessFinal

    forward = BrightnessFinal.forward
    monkeypatch.setattr(
        BrightnessFinal,
        "forward",
        lambda self, images: (forward(self, images)[0] + int(torch.onnx.is_in_onnx_export()),),
    )
    target = config_target(load_config(CONFIG)).with_(exporter="torchscript")  # the quick one
    with pytest.raises(GateError, match="brightness: largest error 1, gate 0.01"):
        deploy(CONFIG, target, checkpoint=checkpoint, work_dir=tmp_path)


def test_evaluate_takes_its_data_set_and_its_metric(deployed: Path, checkpoint: Path, tmp_path: Path) -> None:
    table = evaluate(CONFIG, deployments=[deployed], checkpoint=checkpoint, work_dir=tmp_path, limit=6)
    pytorch, onnxruntime = (row.figures["brightness/right"] for row in table.rows)
    assert 99 < pytorch <= 100
    assert onnxruntime == pytest.approx(pytorch, abs=0.1)


def test_align_compares_its_modules(deployed: Path, checkpoint: Path) -> None:
    alignment = align(CONFIG, deployment=deployed, checkpoint=checkpoint)
    assert "luma" in {module for pair in alignment.pairs for module in pair.modules}
    assert alignment.outputs is not None
    assert not alignment.outputs.failures


@pytest.mark.slow
def test_predict_writes_its_files(deployed: Path, tmp_path: Path) -> None:
    """By the tool, in a process that finds the task by an entry point, as if its package were installed."""
    package = tmp_path / "installed"
    (package / "brightness-1.0.dist-info").mkdir(parents=True)
    facts = package / "brightness-1.0.dist-info"
    (facts / "entry_points.txt").write_text(f"[{registry.ENTRY_POINTS}]\nown = brightness\n")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: brightness\nVersion: 1.0\n")
    command = [sys.executable, "tools/predict.py", deployed, "--image", IMAGE, "--out", tmp_path / "out", "--draw"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, OWN, package)))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["000003.json", "000003_drawn.png"]
    (row,) = json.loads((tmp_path / "out" / "000003.json").read_text(encoding="utf-8"))
    assert 0 < row["brightness"] < 255


def test_it_is_known_by_its_name() -> None:
    load_config(CONFIG)
    task = find_task("brightness")
    assert task is not None
    assert task.__module__ == "brightness"


def test_the_page_is_made_of_its_code() -> None:
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    for file in (OWN / "brightness.py", OWN / "brightness_proof.py", CONFIG):
        code = file.read_text(encoding="utf-8")
        assert f"```python\n{code}```" in page, f"docs/extending.md lacks {file.name} as it is"


def test_a_training_of_it_is_validated(tmp_path: Path) -> None:
    """A metric of the task alone says which keys an item's truth needs."""
    config = load_config(CONFIG)
    from brightness_proof import MeanLuma

    assert Validation(config).figures(MeanLuma(), tmp_path)["brightness/right"] > 95


def test_what_has_no_truth_of_it_cannot_be_validated() -> None:
    config = replace(load_config(CONFIG), dataset={"type": "ImageFolder", "root": str(IMAGE.parent)})
    with pytest.raises(InputError, match="brightness"):
        Validation(config)
