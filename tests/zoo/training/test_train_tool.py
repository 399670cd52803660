"""tools/train.py: what it refuses, compares and records, without training; test_training.py trains."""

import importlib
import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.zoo.training.tiny_recipe import ROOT, constant, publish_model, save_trained, write_tiny
from zoo.training import CheckpointCard, checkpoint_page

Train = Callable[..., tuple[int, str, str]]
FCN = "configs/segmentation/fcn_r18_digits.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("train")
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.fixture
def train(tool: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Train]:
    """train(arguments ...): exit code, stdout, stderr. It must come to its end without training."""
    monkeypatch.setattr("zoo.training.train", lambda *_, **__: pytest.fail("trained"))
    monkeypatch.chdir(ROOT)
    disabled = logging.root.manager.disable

    def run(*arguments: object) -> tuple[int, str, str]:
        code = tool.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    yield run
    logging.disable(disabled)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", -1], "--seed -1: expected 0 to 4294967295"),
        (["--seed", 2**32], "--seed 4294967296: expected 0 to 4294967295"),
        (["--iters", 0], "--iters 0: expected 1 or more"),
        (["--threads", 0], "--threads 0: expected 1 or more"),
        (
            ["--checkpoint", "x.pth", "--amp", "--seed", 0],
            "--checkpoint x.pth: this does not train; leave out --seed, --amp",
        ),
        (["--checkpoint", "none.pth"], "checkpoint none.pth: no such file"),
        (
            ["--reproduce", "--iters", 3],
            "--reproduce --iters: a reproduction does what the recipe says; leave out --iters",
        ),
        (
            ["--reproduce", "--publish"],
            "argument --publish: not allowed with argument --reproduce; see train.py --help",
        ),
        (
            ["--resume", "--work-dir", "none"],
            "--resume: no checkpoint in none; train without --resume, or give its --work-dir",
        ),
    ],
)
def test_wrong_flags(train: Train, arguments: list[object], message: str) -> None:
    code, out, err = train(FCN, *arguments)
    assert (code, out, err) == (2, "", f"error: {message}\n")


def test_what_cannot_be_published(train: Train, tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    config.write_text(config.read_text(encoding="utf-8").replace("weights/tiny.safetensors", "https://x.invalid/w"))
    code, _, err = train(config, "--publish")
    assert code == 2
    assert "checkpoint is https://x.invalid/w; expected the path of a .safetensors file" in err


def test_what_has_not_been_published_cannot_be_reproduced(train: Train, tmp_path: Path) -> None:
    code, _, err = train(write_tiny(tmp_path), "--reproduce")
    assert code == 2
    assert "tiny.json: no such file; python tools/train.py CONFIG --publish writes it" in err


class TestReproduce:
    def test_the_same_weights(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        card = publish_model(config, constant(config, 0))
        before = card.with_suffix(".safetensors").read_bytes()
        trained = save_trained(config, constant(config, 0), seed=3)
        data = tmp_path / "x.json"
        code, out, _ = train(config, "--reproduce", "--checkpoint", trained, "--remark", "alone", "--json", data)
        assert code == 0
        figures = next(iter(CheckpointCard.read(card).figures.values()))
        value = figures["segmentation/mIoU"]
        assert f"{config}: segmentation/mIoU {value:.2f}, published {value:.2f}, difference +0.00\n" in out
        (recorded,) = CheckpointCard.read(card).reproduced
        assert (recorded.seed, recorded.remark, recorded.iterations) == (3, "alone", 2)
        assert recorded.sha256 == CheckpointCard.read(card).sha256
        assert recorded.figures == {config.as_posix(): figures}
        assert card.with_suffix(".safetensors").read_bytes() == before
        assert card.with_suffix(".md").read_text(encoding="utf-8") == checkpoint_page(CheckpointCard.read(card))
        assert json.loads(data.read_text(encoding="utf-8"))["reproduction"] == recorded.to_dict()

    def test_other_figures_are_recorded_and_exit_with_3(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        card = publish_model(config, constant(config, 0))
        data = tmp_path / "x.json"
        trained = save_trained(config, constant(config, 1))
        code, out, err = train(config, "--reproduce", "--checkpoint", trained, "--json", data)
        assert code == 3
        assert "segmentation/mIoU" in out
        assert "from the published weights; expected at most 3.0 either way: mend the recipe" in err
        (recorded,) = CheckpointCard.read(card).reproduced
        change = recorded.differences[config.as_posix()]["segmentation/mIoU"]
        assert change is not None
        assert change < -3
        content = json.loads(data.read_text(encoding="utf-8"))
        assert (content["exit_code"], content["reproduction"]) == (3, recorded.to_dict())

    def test_half_a_training_is_refused(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        card = publish_model(config, constant(config, 0))
        before = card.read_bytes()
        trained = save_trained(config, constant(config, 0), iterations=1)
        code, _, err = train(config, "--reproduce", "--checkpoint", trained)
        assert code == 2
        assert "written after 1 iterations, the recipe has 2" in err
        assert card.read_bytes() == before


def test_publish_a_checkpoint(train: Train, tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    trained = save_trained(config, constant(config, 0), seed=3, iterations=1)
    code, out, _ = train(config, "--publish", "--checkpoint", trained)
    assert code == 0
    assert "tiny.json and tiny.md" in out
    card = CheckpointCard.read(tmp_path / "weights/tiny.json")
    assert (card.training.seed, card.recipe["seed"], card.training.iterations) == (3, 3, 1)
    assert card.reproduced == ()
