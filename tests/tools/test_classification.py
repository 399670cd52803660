"""The shipped classifier through the tools: deployed, loaded, aligned, predicted; below fp32 the metric decides."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backends import load
from pipeline import align, deploy
from zoo import Target
from zoo.config import config_target, load_config
from zoo.datasets import DigitsClassification
from zoo.tasks.image_classification import ClassificationResult

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs/classification/resnet18_digits.py"
VARIANT = f"""
_base_ = ["{CONFIG}"]
checkpoint = "{ROOT}/zoo/weights/resnet18_digits.safetensors"
gate_dataset = dict(type="DigitsClassification", split="val")
"""


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work_dir = tmp_path_factory.mktemp("work")
    target = replace(config_target(load_config(CONFIG)), exporter="torchscript")  # the quick one
    deploy(CONFIG, target, work_dir=work_dir).close()
    return work_dir / "image-classification" / "resnet18_digits" / "onnxruntime-fp32-torchscript"


def test_its_scores_and_their_order_are_proved(deployed: Path) -> None:
    parity = json.loads((deployed / "parity.json").read_text(encoding="utf-8"))
    assert parity["verdict"] == "passed"
    (figure,) = parity["summary"]["graph"]["figures"]
    assert (figure["name"], figure["gate"]) == ("scores", 5e-4)
    assert parity["summary"]["graph"]["matched"] >= 10  # the five best of each image


def test_it_finds_the_digits(deployed: Path) -> None:
    digits = DigitsClassification()
    with load(deployed, check=True) as model:
        results = model([digits[index]["image"] for index in range(40)])
    assert all(isinstance(result, ClassificationResult) for result in results)
    right = [int(result.labels[0] == digits.truth(index)["label"]) for index, result in enumerate(results)]  # type: ignore[attr-defined]
    assert sum(right) >= 32


def test_the_report_has_the_scores_as_points(deployed: Path) -> None:
    report = (deployed / "report.html").read_text(encoding="utf-8")
    assert "score: PyTorch against onnxruntime" in report
    assert "; scores differ by " in report


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_below_fp32_the_accuracy_decides(precision: str, tmp_path: Path) -> None:
    config = tmp_path / "variant.py"
    config.write_text(VARIANT, encoding="utf-8")
    target: Target = config_target(load_config(config), precision)
    deploy(config, target, work_dir=tmp_path).close()
    (record,) = tmp_path.rglob("parity.json")
    parity = json.loads(record.read_text(encoding="utf-8"))
    assert parity["verdict"] == "passed"
    assert {figure["name"] for figure in parity["metric"]} == {"classification/top1"}


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
def test_align_pairs_its_modules(exporter: str) -> None:
    found = align(CONFIG, replace(config_target(load_config(CONFIG)), exporter=exporter))
    assert {"fc", "backbone.conv1"} <= {module for pair in found.pairs for module in pair.modules}
    assert found.outputs is not None
    assert not found.outputs.failures
