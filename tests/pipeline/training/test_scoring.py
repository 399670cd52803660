"""A model is scored as each config that uses its weights says."""

import math
from pathlib import Path

import pytest

from pipeline import evaluate
from pipeline.training import half_precision_file, score, scored_on
from pipeline.training.scoring import differences, rounded
from tests.pipeline.training.tiny_recipe import IMAGES, constant, write_tiny
from zoo.errors import InputError

SLIDE = """
_base_ = ["tiny.py"]
model = dict(test_cfg=dict(_delete_=True, mode="slide", crop_size=(64, 64), stride=(32, 32)))
"""


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    config, slide = write_tiny(tmp_path), tmp_path / "slide.py"
    slide.write_text(SLIDE, encoding="utf-8")
    return config, slide


def test_each_config_has_its_own_way(two: tuple[Path, Path], tmp_path: Path) -> None:
    config, slide = two
    model = constant(config, 0)
    model.get_parameter("decode_head.conv_seg.bias").data.zero_()  # the classes of random features
    weights = tmp_path / "other.safetensors"
    weights.write_bytes(half_precision_file(model))
    counts: list[tuple[int, int]] = []
    figures = score(config, [slide.name], weights, progress=lambda _name, done, images: counts.append((done, images)))
    assert counts[:3] == [(0, IMAGES), (1, IMAGES), (2, IMAGES)]
    for path in two:
        evaluated = evaluate(path, ["pytorch"], checkpoint=weights, work_dir=tmp_path / "work").rows[0].figures
        assert figures[path.as_posix()] == {name: round(value, 2) for name, value in evaluated.items()}
    assert figures[config.as_posix()] != figures[slide.as_posix()]


def test_figures_are_rounded_and_nothing_to_judge_is_none() -> None:
    assert rounded({"a": 1.23456, "b": math.nan}) == {"a": 1.23, "b": None}


def test_differences() -> None:
    ours = {"x.py": {"a": 60.1, "b": None, "c": 5.0}}
    theirs = {"x.py": {"a": 62.0, "b": 1.0, "c": None}}
    assert differences(ours, theirs) == {"x.py": {"a": -1.9, "b": None, "c": None}}


def test_what_is_scored_on_is_reported(two: tuple[Path, Path], tmp_path: Path) -> None:
    config, slide = two
    dataset = {"type": "DigitsSegmentation", "split": "val", "root": str(tmp_path / "data"), "images": IMAGES}
    assert scored_on(config, [slide.name]) == {config.as_posix(): dataset, slide.as_posix(): dataset}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset = dict(root='none')", r'digits split "val": no /.*/none/val/annotations.json'),
        (
            "dataset = dict(_delete_=True, type='Digits')\ncard = gate_dataset = calibration_dataset = None",
            'unknown dataset type "Digits"',
        ),
        ("evaluator = dict(_delete_=True, type='MeanIuO')", 'unknown .* "MeanIuO"'),
    ],
)
def test_what_cannot_be_scored_is_reported_at_once(text: str, message: str, two: tuple[Path, Path]) -> None:
    config, slide = two
    slide.write_text(SLIDE + text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        scored_on(config, [slide.name])
