"""The train section of a config, and what may go wrong before training starts."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config

from zoo.errors import InputError
from zoo.training import Recipe, load_trained

ROOT = Path(__file__).resolve().parents[3]
GOOD = {"iterations": 4, "batch_size": 2, "optimizer": {"type": "SGD", "lr": 0.1}}


def recipe(**train: object) -> Recipe:
    return Recipe.from_config(Config({"preprocess": {"size": (64, 96)}, "train": train}), Path("a/b.py"))


def test_defaults_come_from_the_preprocessing() -> None:
    assert recipe(**GOOD).crop == (64, 96)
    assert recipe(**GOOD, crop=(32, 32)).crop == (32, 32)


def test_iterations_can_be_overruled() -> None:
    config = Config({"preprocess": {"size": (64, 96)}, "train": GOOD})
    assert Recipe.from_config(config, Path("a/b.py"), iterations=9).iterations == 9


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ({}, r"config a/b.py has no recipe"),
        ({**GOOD, "warmups": 3}, r'unknown key train\."warmups"; nearest: "warmup"'),
        ({"iterations": 4, "batch_size": 2}, r'key train\."optimizer" is missing'),
        ({"config": "c.py"}, r"run python tools/train.py a/c.py"),
    ],
)
def test_faults_are_named(train: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipe(**train)


def test_a_file_that_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.pth").write_bytes(b"nothing")
    config = Config.fromfile(str(ROOT / "configs/segmentation/fcn_r18_digits.py"))
    torch.save({"state_dict": {}, "meta": {"iter": 3}}, tmp_path / "other.pth")
    for name, message in (
        ("x.pth", "cannot be read: it is none that torch.save wrote"),
        ("missing.pth", "no such file"),
        ("other.pth", "does not tell of its training; give a .pth that tools/train.py wrote"),
    ):
        with pytest.raises(InputError, match=rf"{name}:? {message}"):
            load_trained(config, tmp_path / name)
