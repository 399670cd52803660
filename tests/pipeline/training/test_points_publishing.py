"""A recipe of point clouds, from its training to the pages of a zoo: weights, record, card, and what they say."""

import importlib
import json
import re
from functools import partial
from pathlib import Path

import pytest
import torch

from pipeline.training import Recipe
from tests.pipeline.training.test_points_training import written
from zoo.cards import Measured, TrainingRecord, measured_file, problems, read_card
from zoo.cards.pages import BEGIN, END
from zoo.config import load_config
from zooport.verbs import run_verb

pytestmark = pytest.mark.slow  # a training, a deploy and two evaluations

TOOLS = Path(__file__).parents[3] / "tools"
MORE = """
calibration_dataset = dict(type="Streets", split="train", count=2)
export["exporter"] = "torchscript"
model["score_thresh"] = 0.001
card = dict(what="a tiny detector of points", paper="none, 2020", licence="Apache-2.0; the scenes are synthetic")
"""


def test_a_recipe_is_trained_published_measured_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "configs" / "detection3d"
    folder.mkdir(parents=True)
    path = written(folder)
    text = path.read_text(encoding="utf-8").replace('"work/best.safetensors"', '"detector.safetensors"')
    path.write_text(text + MORE, encoding="utf-8")
    measured_folder = tmp_path / "measured"
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "docs/zoo.md"):
        (tmp_path / page).write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)

    assert run_verb(["train", "configs/detection3d/detector.py", "--publish", "--work-dir", "work"]) == 0
    record = TrainingRecord.read(folder / "detector.json")
    assert record.recipe == Recipe.from_config(load_config(path)).to_dict()
    assert record.recipe["train_dataset"] == {"type": "Streets", "split": "train", "count": 4}
    assert record.licence == "Apache-2.0; the scenes are synthetic"
    assert record.figures.keys() == {"configs/detection3d/detector.py"}

    monkeypatch.syspath_prepend(str(TOOLS))
    tool = importlib.import_module("update_zoo")
    for name, function in (("read_card", read_card), ("measured_file", measured_file), ("problems", problems)):
        monkeypatch.setattr(f"zoo.cards.{name}", partial(function, folder=measured_folder))
    assert tool.main([]) == 0, capsys.readouterr().err
    assert tool.main(["--check"]) == 0
    measured = Measured.from_dict(json.loads((measured_folder / "detector.json").read_text(encoding="utf-8")))
    assert (record.sha256, record.parameters) == (measured.checkpoint_sha256, measured.parameters)
    for metric, value in record.figures["configs/detection3d/detector.py"].items():
        assert measured.rows[0].figures[metric] == pytest.approx(value, abs=0.0051)
    docs = (tmp_path / "docs" / "zoo.md").read_text(encoding="utf-8")
    data = r"- data: Streets, split train, count 4 \(\[card\]\(.*/zoo/data/streets/README.md\)\), half of it mirrored"
    for line in (
        data + ", turned by up to 45 degrees",
        r"- input: \d+ points, \d+\.\d{3} GFLOPs a point cloud",
        r"On 2 point clouds \(Streets, split shipped, count 2\), measured ",
        r"- weights: the best of the validations on the config's `dataset`, one every 2 iterations",
        r"- batch: 2 point clouds",
        r"- scale: the point cloud, times 0.95 to 1.05",
        r"- start: random weights",
    ):
        assert re.search(f"^{line}", docs, re.MULTILINE), line
    assert "image" not in docs
    assert re.search(r"\| \d+ points \| 3D moderate \|", (tmp_path / "README.md").read_text(encoding="utf-8"))
