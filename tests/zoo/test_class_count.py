"""A checkpoint with another number of classes: the error names the key to set."""

from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.build import build_model
from zoo.class_count import class_count_hint
from zoo.errors import InputError
from zoo.registry import MODELS

HEAD = """
task = dict(type="{task}", classes=[dict(name=str(label), category_id=label) for label in range({classes})])
preprocess = dict(size=(64, 96))
"""


@pytest.mark.parametrize(
    ("shapes", "section", "hint"),
    [
        ({"fc.weight": ((3, 8), (10, 8))}, {"num_classes": 10}, "set model.num_classes=3: it has 3 classes"),
        ({"cls": ((27,), (819,)), "w": ((27, 4), (819, 4))}, {"num_classes": 91}, "set model.num_classes=3"),
        ({"fc": ((4, 8), (11, 8))}, {"num_classes": 10}, "set model.num_classes=3"),  # and the background
        ({"m.0": ((24, 8, 1, 1), (255, 8, 1, 1))}, {"num_classes": 80}, "set model.num_classes=3"),  # of YOLOv5
        ({"a": ((3,), (10,))}, {"decode_head": {"num_classes": 10}}, "set model.decode_head.num_classes=3"),
        ({"a": ((3,), (10,)), "b": ((5,), (10,))}, {"num_classes": 10}, None),
        ({"fc.weight": ((3, 9), (10, 8))}, {"num_classes": 10}, None),
        ({"conv": ((64,), (32,))}, {"num_classes": 10}, None),
        ({"conv": ((64,), (32,))}, {"num_classes": 0}, None),
        ({}, {"num_classes": 10}, None),
        ({"fc": ((3,), (10,))}, {}, None),
    ],
)
def test_the_key(shapes: Any, section: Any, hint: str | None) -> None:
    found = class_count_hint(section, shapes)
    assert found is None if hint is None else found is not None and found.startswith(hint)


@pytest.mark.parametrize(
    ("kind", "architecture", "task"),
    [
        ("TorchvisionDetector", "ssdlite320_mobilenet_v3_large", "Detection"),
        ("TorchvisionClassifier", "squeezenet1_1", "ImageClassification"),
    ],
)
def test_a_fine_tune_of_torchvision(kind: str, architecture: str, task: str, tmp_path: Path) -> None:
    section = {"type": kind, "architecture": architecture}
    torch.manual_seed(0)
    torch.save(MODELS.build({**section, "num_classes": 3}).state_dict(), tmp_path / "tuned.pth")
    config = tmp_path / "tuned.py"
    model = f"model = dict(type={kind!r}, architecture={architecture!r}, num_classes={{classes}})"
    lines = f"{model}{HEAD}checkpoint = 'tuned.pth'\n"
    config.write_text(lines.format(classes=7, task=task))
    message = r"tuned.pth is not of this model: .* or set model.num_classes=3: it has 3 classes, and the config 7$"
    with pytest.raises(InputError, match=message):
        build_model(str(config))
    config.write_text(lines.format(classes=3, task=task))
    assert not build_model(str(config)).training
