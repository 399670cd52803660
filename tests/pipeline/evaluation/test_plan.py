"""What is wrong with a config or its data is said before anything runs."""

from pathlib import Path
from typing import Any

import pytest

from pipeline import evaluate
from pipeline.evaluation.plan import plan_evaluation
from zoo.config import load_config
from zoo.errors import InputError

CONFIG = Path(__file__).resolve().parents[3] / "configs/segmentation/fcn_r18_digits.py"


def planned(tmp_path: Path, limit: int | None = None, **changes: Any) -> Any:
    config = load_config(CONFIG)
    for key, value in changes.items():
        config[key] = value
    return plan_evaluation(config, tmp_path, limit=limit, gate_split=False)


def test_the_shipped_config(tmp_path: Path) -> None:
    plan = planned(tmp_path, limit=5)
    assert len(plan.dataset) == 5
    assert plan.place == tmp_path / "semantic-segmentation/fcn_r18_digits/evaluation"
    assert plan.dataset[3]["number"] == 3
    assert plan.metric().main_key == "segmentation/mIoU"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"limit": 0}, "--limit 0: expected 1 or more images"),
        ({"evaluator": {"type": "MeanIOU"}}, 'unknown evaluator type "MeanIOU"; nearest: "MeanIoU"'),
        ({"evaluator": {"type": "MeanIoU", "classes": 3}}, "evaluator MeanIoU cannot be built from its config"),
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
        ({"batch_size": 0}, "--batch-size 0: expected 1 or more"),
        ({"deployments": ["no/such/folder"]}, "--deployment no/such/folder: no such folder"),
        ({"gate_split": True, "config": "bare"}, 'no "gate_dataset" to evaluate on'),
    ],
)
def test_faults_of_the_call(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    config = load_config(CONFIG)
    if options.pop("config", None):
        config.pop("gate_dataset")
    with pytest.raises(InputError, match=message):
        evaluate(config, work_dir=tmp_path, **options)
    assert not list(tmp_path.iterdir()), "nothing was deployed"
