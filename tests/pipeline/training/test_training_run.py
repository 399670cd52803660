"""What is known of a run, and of one that goes on."""

import platform
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.training import Recipe, begin_run, resume_run
from pipeline.training.training_run import ROOT, config_name
from tests.zoo.cards.training_records import RECIPE, run
from zoo.cards import TrainingRun
from zoo.errors import InputError


def recipe(**values: Any) -> Recipe:
    return Recipe(**{**RECIPE, "optimizer": {"type": "SGD", "lr": 0.1}, **values})


def test_a_run_knows_its_machine_and_its_recipe() -> None:
    found = begin_run(Path("a/b.py"), recipe(seed=3, crop=(64, 96)), amp=True)
    assert (found.config, found.seed, found.amp, found.iterations, found.minutes) == ("a/b.py", 3, True, 0, 0)
    assert (found.threads, found.python) == (torch.get_num_threads(), platform.python_version())
    assert torch.__version__.startswith(found.torch)
    assert found.device == (torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu")
    assert found.recipe == {**RECIPE, "optimizer": {"type": "SGD", "lr": 0.1}, "seed": 3, "crop": [64, 96]}
    assert found.resumed == 0
    assert found.began is not None
    assert datetime.now(UTC) - datetime.fromisoformat(found.began) < timedelta(minutes=1)


def test_its_dictionary_makes_it_again() -> None:
    made = run(minutes=1.26, remark="alone")
    assert TrainingRun(**made.to_dict()) == run(minutes=1.3, remark="alone")


def test_going_on_keeps_what_the_training_began_with() -> None:
    before = run(seed=5, amp=True, iterations=3, minutes=10.0, threads=1, backbone_sha256="ab", began="then")
    after = resume_run(run(seed=0, threads=2, began="now"), before, seed=None)
    assert after == replace(before, threads=2, resumed=1)
    assert resume_run(run(), before, seed=5).seed == 5
    assert resume_run(run(), after, seed=None).resumed == 2


@pytest.mark.parametrize(
    ("before", "now", "seed", "message"),
    [
        ({"seed": 5}, {}, 1, "--resume --seed 1: this training began with seed 5; leave out --seed"),
        ({}, {"amp": True}, None, "--resume --amp: this training began without it; leave out --amp"),
        (
            {},
            {"recipe": {**RECIPE, "warmup": 2}},
            None,
            r"this training began: train\.warmup was 1 and is 2; put",
        ),
        ({}, {"recipe": {**RECIPE, "size": [64, 64]}}, None, r"preprocess\.size was \[64, 96\] and is \[64, 64\]; put"),
        ({"recipe": None}, {}, None, "this checkpoint does not name its recipe, because it was written before"),
    ],
)
def test_going_on_with_another_training_is_refused(
    before: dict[str, Any], now: dict[str, Any], seed: int | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        resume_run(run(**now), run(**before), seed=seed)


def test_a_run_is_distinguished_from_others_by_its_beginning() -> None:
    assert run(remark="a", minutes=1.0).is_of(run(remark="b", minutes=2.0))
    assert not run(began="now").is_of(run())
    assert not run(began="now").is_of(run(began=None))
    older = run(began=None, minutes=9.4)
    assert older.is_of(replace(older, remark="alone"))
    assert not older.is_of(replace(older, minutes=20.0))


def test_a_config_is_named_from_the_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT / "configs")
    for path in (Path("segmentation/x.py"), ROOT / "configs/segmentation/x.py", Path("detection/../segmentation/x.py")):
        assert config_name(path) == "configs/segmentation/x.py"
    assert config_name(tmp_path / "x.py") == (tmp_path / "x.py").as_posix()
