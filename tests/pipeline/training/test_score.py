"""A model is scored as each config that uses its weights says."""

import sys
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from pipeline.training import score_all, scored_on
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


def test_each_config_has_its_own_way(two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    config, slide = two

    def score(_config: Any, model: nn.Module, **_options: Any) -> dict[str, Any]:
        test_cfg: Any = model.test_cfg
        return {"mode": test_cfg["mode"]}

    monkeypatch.setattr(sys.modules[score_all.__module__], "score", score)  # the package has a function of its name
    model = constant(config, 0)
    for paths in ((config, slide), (slide, config)):
        found = score_all(paths[0], [paths[1].name], model)
        assert found == {config.as_posix(): {"mode": "whole"}, slide.as_posix(): {"mode": "slide"}}


def test_what_is_scored_on_is_told(two: tuple[Path, Path], tmp_path: Path) -> None:
    config, slide = two
    dataset = {"type": "DigitsSegmentation", "split": "val", "root": str(tmp_path / "data"), "images": IMAGES}
    assert scored_on(config, [slide.name]) == {config.as_posix(): dataset, slide.as_posix(): dataset}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset = dict(root='none')", 'digits split "val": no none/val/annotations.json'),
        ("dataset = dict(_delete_=True, type='Digits')", 'unknown dataset type "Digits"'),
        ("evaluator = dict(_delete_=True, type='MeanIuO')", 'unknown .* "MeanIuO"'),
    ],
)
def test_what_cannot_be_scored_is_told_at_once(text: str, message: str, two: tuple[Path, Path]) -> None:
    config, slide = two
    slide.write_text(SLIDE + text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        scored_on(config, [slide.name])
