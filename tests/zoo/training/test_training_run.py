"""What is known of a run, and of one that goes on."""

import platform
from pathlib import Path

import pytest
import torch

from tests.zoo.training.cards import run
from zoo.errors import InputError
from zoo.training import TrainingRun
from zoo.training.training_run import ROOT, config_name


def test_a_run_knows_its_machine() -> None:
    found = TrainingRun.beginning(Path("a/b.py"), seed=3, amp=True)
    assert (found.config, found.seed, found.amp, found.iterations, found.minutes) == ("a/b.py", 3, True, 0, 0)
    assert (found.threads, found.python) == (torch.get_num_threads(), platform.python_version())
    assert torch.__version__.startswith(found.torch)
    assert found.device == (torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu")


def test_its_dictionary_makes_it_again() -> None:
    made = run(minutes=1.26, remark="alone")
    assert TrainingRun(**made.to_dict()) == run(minutes=1.3, remark="alone")


def test_going_on_keeps_seed_precision_and_minutes() -> None:
    before = run(seed=5, amp=True, iterations=3, minutes=10.0, threads=1)
    after = run(seed=0, threads=2).after(before, seed=None)
    assert after == run(seed=5, amp=True, iterations=3, minutes=10.0, threads=2)
    assert run().after(before, seed=5).seed == 5


def test_going_on_with_another_seed_is_refused() -> None:
    with pytest.raises(InputError, match="--resume --seed 1: this training began with seed 5; leave out --seed"):
        run().after(run(seed=5), seed=1)


def test_a_config_is_named_from_the_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT / "configs")
    for path in (Path("segmentation/x.py"), ROOT / "configs/segmentation/x.py", Path("detection/../segmentation/x.py")):
        assert config_name(path) == "configs/segmentation/x.py"
    assert config_name(tmp_path / "x.py") == (tmp_path / "x.py").as_posix()
