"""What is wrong with a config or its data is said before anything runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from mmengine.registry import DefaultScope

from pipeline import evaluate
from pipeline.evaluation.indexed_dataset import IndexedDataset
from pipeline.evaluation.judging import judged_row
from pipeline.evaluation.plan import make_gate_split, plan_evaluation
from pipeline.evaluation.records import MISSED, PASSED, Row
from pipeline.evaluation.run_dataset import Judged
from zoo.config import load_config
from zoo.datasets import ImageFolder
from zoo.datasets.digits import generated_split
from zoo.errors import BackendUnavailableError, InputError
from zoo.registry import DATASETS

CONFIG = Path(__file__).resolve().parents[3] / "configs/segmentation/fcn_r18_digits.py"


def planned(tmp_path: Path, limit: int | None = None, **changes: Any) -> Any:
    return plan_evaluation(replace(load_config(CONFIG), **changes), tmp_path, limit=limit, gate_split=False)


def test_the_shipped_config(tmp_path: Path) -> None:
    plan = planned(tmp_path, limit=5)
    assert len(plan.dataset) == 5
    assert plan.place == tmp_path / "semantic-segmentation/fcn_r18_digits/evaluation"
    assert plan.dataset[3]["number"] == 3
    assert plan.metric().main_key == "segmentation/mIoU"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluator": {"type": "MeanIOU"}}, 'unknown evaluator type "MeanIOU"; nearest: "MeanIoU"'),
        (
            {"evaluator": {"type": "MeanIoU", "num_classes": "4", "classes": 3}},
            'argument "num_classes": got \'4\', expected int; unknown argument "classes"; nearest: "num_classes"',
        ),
        ({"evaluator": {"type": "MeanIoU", "num_classes": 0}}, "MeanIoU: got num_classes 0, expected 1 or more"),
        (
            {"evaluator": {"type": "CocoBoxAP"}},
            "CocoBoxAP needs boxes, labels, which dataset DigitsSegmentat",
        ),
        ({"gates": {"metric": {"point": 1}}}, 'unknown gate "metric.point"; nearest: "points"'),
        ({"dataset": {"type": "DigitSegmentation"}}, 'unknown dataset type "DigitSegmentation"; nearest: "DigitsSegm'),
        ({"dataset": {"type": "ImageFolder", "root": "nowhere"}}, "nowhere"),
    ],
)
def test_faults(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        planned(tmp_path, **changes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backends": ["onnxruntim"]}, 'unknown backend "onnxruntim"; nearest: "onnxruntime"'),
        ({"precision": "fp12"}, 'unknown precision "fp12"; nearest: "fp'),
        ({"precision": "fp16", "backends": ["pytorch"]}, "--precision fp16: no backend to deploy for"),
        ({"device": "gpu"}, 'device "gpu": expected cpu, cuda or cuda:N'),
        ({"batch_size": 0}, "--batch-size 0: expected 1 or more"),
        ({"deployments": ["no/such/folder"]}, "--deployment no/such/folder: no such folder"),
        ({"gate_split": True, "config": "bare"}, 'no "gate_dataset" to evaluate on'),
    ],
)
def test_faults_of_the_call(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    config = load_config(CONFIG)
    if options.pop("config", None):
        config = replace(config, gate_dataset=None)
    with pytest.raises(InputError, match=message):
        evaluate(config, work_dir=tmp_path, **options)
    assert not list(tmp_path.iterdir()), "nothing was deployed"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailableError, match="device cuda: PyTorch finds 0 CUDA devices here"):
        evaluate(CONFIG, ["pytorch"], work_dir=tmp_path, device="cuda")


def test_images_that_are_too_small_are_named_before_one_is_run(tmp_path: Path) -> None:
    for name, side in (("a", 64), ("b", 31), ("c", 8)):
        cv2.imwrite(str(tmp_path / f"{name}.png"), np.zeros((40, side, 3), np.uint8))
    with pytest.raises(InputError, match=r"2 faults: .*b.png: got 31x40 pixels, expected 32 or.*c.png: got 8x40"):
        planned(tmp_path, dataset={"type": "ImageFolder", "root": str(tmp_path)})


def test_a_program_that_uses_mmengine_for_itself(tmp_path: Path) -> None:
    with DefaultScope.overwrite_default_scope("mmengine"):
        assert planned(tmp_path).metric().main_key == "segmentation/mIoU"


def test_a_metric_of_0_on_both_sides_compares_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plan = planned(tmp_path, limit=5)
    metric = plan.metric()
    row = Row("a", "onnxruntime", "fp32", None, {}, ())
    nothing, some = (Judged({metric.main_key: points}, [], ()) for points in (0.0, 50.0))
    assert judged_row(row, plan, metric, some, some, None).verdict == PASSED
    assert judged_row(row, plan, metric, nothing, some, None).verdict == MISSED
    assert caplog.text == ""
    assert judged_row(row, plan, metric, nothing, nothing, None).verdict == PASSED  # an error of 0 may be perfect
    assert "mIoU of PyTorch itself is 0 on 5 images, so its gate compares nothing; give a larger" in caplog.text


def test_the_gate_split_is_made_by_its_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever that is called: a data set of one's own may make its images, too."""
    made = []

    class MadeHere(ImageFolder):
        @classmethod
        def prepare(cls, section: Any, progress: Any = None) -> None:
            made.append((section["root"], progress))

    monkeypatch.setitem(DATASETS.module_dict, "MadeHere", MadeHere)
    config = replace(load_config(CONFIG), gate_dataset={"type": "MadeHere", "root": "anywhere"})
    make_gate_split(config, print)
    assert made == [("anywhere", print)]
    make_gate_split(replace(config, gate_dataset={"type": "ImageFolder", "root": "nowhere"}))  # nothing to make
    with pytest.raises(InputError, match='unknown dataset type "MadeHera"; nearest: "MadeHere"'):
        make_gate_split(replace(config, gate_dataset={"type": "MadeHera"}))


def test_digits_make_their_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    splits: list[str] = []
    monkeypatch.setattr(generated_split, "ensure_split", lambda split, progress: splits.append(split))
    config = load_config(CONFIG)
    assert config.gate_dataset is not None
    for section in (
        config.gate_dataset,
        {"type": "DigitsClassification", "split": "gate"},
        {"type": "DigitsDetection"},
    ):
        make_gate_split(replace(config, gate_dataset=section))
    make_gate_split(replace(config, gate_dataset={"type": "DigitsInstances", "split": "gate", "root": "elsewhere"}))
    assert splits == ["gate", "gate", "val"]


def test_generated_images_are_no_files() -> None:
    small, large = (
        IndexedDataset(DATASETS.build({"type": "TrainingPhotographCrops", "scale": scale, "classes": ()}), 1)
        for scale in (4, 2)
    )
    assert small[0]["state"] == small[0]["state"]
    assert small[0]["state"] != large[0]["state"]
