"""The train section of a config, and what may go wrong before training starts."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pipeline.training import Pretraining, Recipe, read_run
from tests.zoo.cards.training_records import facts, run
from zoo.config import ModelConfig
from zoo.errors import InputError

FIRST = {"iterations": 2, "batch_size": 4, "side": 32, "lr": 0.1}
GOOD = {"iterations": 4, "batch_size": 2, "optimizer": {"type": "SGD", "lr": 0.1}}


def config(preprocess: dict[str, object], train: dict[str, object]) -> ModelConfig:
    task = {"type": "Detection", "classes": [{"name": "x", "category_id": 1}]}
    content = {"model": {"type": "Net"}, "task": task, "preprocess": preprocess, "train": train}
    return ModelConfig.from_dict(Path("a/b.py"), content)


def recipe(**train: object) -> Recipe:
    return Recipe.from_config(config({"size": (64, 96)}, train))


def test_defaults_come_from_the_preprocessing() -> None:
    assert recipe(**GOOD).crop == (64, 96)
    assert recipe(**GOOD, crop=(32, 32)).crop == (32, 32)


def test_iterations_can_be_overruled() -> None:
    assert Recipe.from_config(config({"size": (64, 96)}, GOOD), iterations=9).iterations == 9


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ({}, r"config a/b.py has no recipe"),
        ({**GOOD, "warmups": 3}, r'config a/b.py: train: unknown argument "warmups"; nearest: "warmup"'),
        ({"iterations": 4, "batch_size": 2}, r'train: argument "optimizer" is missing'),
        ({"config": "c.py"}, r"run zooport train a/c.py"),
        ({**GOOD, "warmup": "3"}, r"""argument "warmup": got '3', expected int"""),
        ({**GOOD, "warmup": -1, "batch_size": 0}, r'"batch_size": got 0, expected 1 or more; .*"warmup": got -1'),
        ({**GOOD, "batch_size": 2.5}, r'argument "batch_size": got 2.5, expected int'),
        ({**GOOD, "seed": 2**32}, r'argument "seed": got 4294967296, expected at most 4294967295'),
        ({**GOOD, "max_grad_norm": 0}, r'argument "max_grad_norm": got 0, expected more than 0'),
        ({**GOOD, "crop": 64}, r'argument "crop": got 64, expected \(height, width\)'),
        ({**GOOD, "crop": (64, 16)}, r'argument "crop": got \(64, 16\), expected .* 32 or more'),
        ({**GOOD, "scale": (2, 1)}, r'argument "scale": got \(2, 1\), expected \(lowest, highest\)'),
        ({**GOOD, "scale": (0.5, "x")}, r'argument "scale": got'),
        ({**GOOD, "also": "c.py"}, r"""argument "also": got 'c.py', expected a list"""),
        ({**GOOD, "backbone": 3}, r'argument "backbone": got 3, expected str or None'),
        ({**GOOD, "optimizer": "SGD"}, r"""argument "optimizer": got 'SGD', expected dict\(type="AdamW", lr=...\)"""),
        ({**GOOD, "optimizer": {"type": "AdamV", "lr": 0.1}}, r'optimizer: unknown type "AdamV"; nearest: "Adam'),
        ({**GOOD, "optimizer": {"type": "SGD", "rl": 0.1}}, r"optimizer: SGD cannot be made .*'rl'"),
        ({**GOOD, "optimizer": {"type": "SGD", "lr": "0.1"}}, r"optimizer: SGD cannot be made"),
        ({**GOOD, "pretrain": 3}, r'argument "pretrain": got 3, expected dict\(iterations, batch_size, side, lr\)'),
        ({**GOOD, "pretrain": {"iterations": 2, "sides": 3}}, r'pretrain: unknown argument "sides"; nearest: "side"'),
        ({**GOOD, "pretrain": {**FIRST, "batch_size": 1}}, r'pretrain: argument "batch_size": got 1, expected 2 or'),
        ({**GOOD, "pretrain": {**FIRST, "lr": "x"}}, r"""pretrain: argument "lr": got 'x', expected float"""),
    ],
)
def test_faults_are_named(train: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipe(**train)


def test_a_size_is_needed() -> None:
    with pytest.raises(InputError, match="config a/b.py: training needs tensors of one size; give preprocess a size"):
        Recipe.from_config(config({"resize": "keep"}, GOOD))


def test_all_that_a_recipe_says_is_kept() -> None:
    made = recipe(**GOOD, pretrain=FIRST, scale=[1, 2], also=["c.py"])
    assert made.pretrain == Pretraining(**FIRST)
    assert (made.scale, made.also) == ((1, 2), ("c.py",))
    assert made.to_dict()["pretrain"] == FIRST
    data = {"type": "LabelMaps", "images": Path("images"), "ignored": {255, 0}}
    assert replace(made, train_dataset=data).to_dict()["train_dataset"] == {
        **data,
        "images": "images",
        "ignored": [0, 255],
    }


class TestCheckpoints:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "cannot be read: torch.save did not write it"),
            ({"state_dict": {}, "meta": {"iter": 3}}, "has no record of its training; give a .pth that zooport train"),
            ({"state_dict": {}, "meta": [1]}, "has no record of its training"),
            ({"state_dict": {}, "meta": "training"}, "has no record of its training"),
            ({"state_dict": {}, "meta": {"training": 3}}, "has no record of its training"),
            ([1], "has no record of its training"),
            (
                {"meta": {"training": {**facts(), "seed": "x"}}},
                """has a record that zooport did not write: .* "seed": got 'x', expected int""",
            ),
            (
                {"meta": {"training": {**facts(), "recipe": [1]}}},
                "has a record that zooport did not write: its recipe is not a mapping",
            ),
            ({"meta": {"training": {1: 2}}}, 'has a record that zooport did not write: .*unknown argument "1"'),
        ],
    )
    def test_that_tell_of_no_training(self, content: object, message: str, tmp_path: Path) -> None:
        if content is None:
            (tmp_path / "x.pth").write_bytes(b"nothing")
        else:
            torch.save(content, tmp_path / "x.pth")
        with pytest.raises(InputError, match=rf"x.pth {message}"):
            read_run(tmp_path / "x.pth")

    def test_that_are_missing(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"missing.pth: no such file"):
            read_run(tmp_path / "missing.pth")

    def test_that_do_not_tell_their_recipe_are_read(self, tmp_path: Path) -> None:
        older = {key: value for key, value in facts().items() if key not in ("recipe", "began")}
        torch.save({"meta": {"training": older}}, tmp_path / "x.pth")
        assert read_run(tmp_path / "x.pth") == run(recipe=None, began=None)
