"""A model that mmengine's Runner trained, with averaged weights: mmdetection's own figures are those of zooport."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tools.mmdet_runner import CHECKPOINT, SIZES, draw, runner_config, trained_and_measured
from tests.zoo.codebases.small_configs import write
from zooport.verbs import run_verb

pytestmark = [
    pytest.mark.slow,
    pytest.mark.openmmlab,
    pytest.mark.filterwarnings("ignore"),  # of the library's own training
]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

KEPT = [{"type": "Resize", "scale": (128, 80), "keep_ratio": True}]
STRETCHED = [{"type": "Resize", "scale": (96, 64), "keep_ratio": False}]
CASES = [
    ("retinanet", KEPT, "detection", {"coco/bbox_mAP": "coco/box_AP"}),
    # no letterbox: an untrained model finds boxes in its padding, which zooport clips and mmdetection keeps
    ("rtmdet", STRETCHED, "detection", {"coco/bbox_mAP": "coco/box_AP"}),
    (
        *("mask_rcnn", KEPT, "instance-segmentation"),
        {"coco/bbox_mAP": "coco/box_AP", "coco/segm_mAP": "coco/mask_AP"},
    ),
]


@pytest.mark.parametrize(("name", "resizing", "task", "names"), CASES, ids=[case[0] for case in CASES])
def test_the_metric_of_the_runner(
    name: str,
    resizing: list[dict[str, Any]],
    task: str,
    names: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mmengine.config import Config

    from zoo.codebases.mmcv_ext import stand_in

    stand_in.provide()
    import mmdet.datasets
    import mmdet.engine
    import mmdet.evaluation
    import mmdet.models  # noqa: F401

    monkeypatch.chdir(tmp_path)
    draw(tmp_path / "coco")
    config = Config.fromfile(str(write(tmp_path, runner_config(name, tmp_path / "coco", resizing), "mine.py")))
    config.work_dir = str(tmp_path / "trained")
    figures = trained_and_measured(name, config, monkeypatch)
    expected = {ours: 100 * figures[theirs] for theirs, ours in names.items()}
    assert all(5 < figure < 99 for figure in expected.values()), expected
    content = torch.load(f"trained/{CHECKPOINT}", weights_only=False)
    averaged, last = content["state_dict"], content["ema_state_dict"]
    assert any(not torch.equal(averaged[name], last[f"module.{name}"]) for name in averaged)

    images = [str(tmp_path / "coco" / "images" / f"{number}.png") for number in (0, len(SIZES) - 1)]
    arguments = ["--checkpoint", f"trained/{CHECKPOINT}", "--exporter", "torchscript", "--image", *images]
    assert run_verb(["deploy", "mine.py", *arguments]) == 0
    (manifest,) = Path(f"work_dirs/{task}").rglob("deployment.json")
    options = ["--backend", "pytorch", "--deployment", str(manifest.parent), "--json", "evaluation.json"]
    assert run_verb(["evaluate", "work_dirs/mine.py", *options]) == 0
    rows = json.loads(Path("evaluation.json").read_text())["rows"]
    assert len(rows) == 2
    for row in rows:
        for figure, value in expected.items():
            assert abs(row["figures"][figure] - value) <= 0.1, (row["name"], figure)
