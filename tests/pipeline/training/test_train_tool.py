"""tools/train.py: what it refuses, compares and records, without training; test_training.py trains."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from pipeline.training import Recipe
from tests.pipeline.training.tiny_recipe import IMAGES, ROOT, constant, publish_model, run_of, save_trained, write_tiny
from tests.zoo.cards.training_records import again, facts
from zoo.cards import TrainingRecord
from zoo.config import load_config
from zooport.verbs import run_verb

Train = Callable[..., tuple[int, str, str]]
FCN = "configs/segmentation/fcn_r18_digits.py"


@pytest.fixture
def train(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Train]:
    """train(arguments ...): exit code, stdout, stderr. It must come to its end without training."""
    monkeypatch.setattr("pipeline.training.train", lambda *_, **__: pytest.fail("trained"))
    monkeypatch.chdir(ROOT)
    disabled = logging.root.manager.disable

    def run(*arguments: object) -> tuple[int, str, str]:
        code = run_verb(["train", *map(str, arguments)])
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
            "argument --publish: not allowed with argument --reproduce; see zooport train --help",
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
        figures = next(iter(TrainingRecord.read(card).figures.values()))
        value = figures["segmentation/mIoU"]
        assert f"{config}: segmentation/mIoU {value:.2f}, published {value:.2f}, difference +0.00\n" in out
        (recorded,) = TrainingRecord.read(card).reproduced
        assert (recorded.seed, recorded.remark, recorded.iterations) == (3, "alone", 2)
        assert recorded.sha256 == TrainingRecord.read(card).sha256
        assert recorded.figures == {config.as_posix(): figures}
        assert card.with_suffix(".safetensors").read_bytes() == before
        assert json.loads(data.read_text(encoding="utf-8"))["reproduction"] == recorded.to_dict()

    @pytest.mark.slow
    def test_other_figures_are_recorded_and_exit_with_3(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        card = publish_model(config, constant(config, 0))
        data = tmp_path / "x.json"
        trained = save_trained(config, constant(config, 1))
        code, out, err = train(config, "--reproduce", "--checkpoint", trained, "--json", data)
        assert code == 3
        assert "segmentation/mIoU" in out
        assert "from the published weights; expected at most 3.0 either way: fix the recipe" in err
        (recorded,) = TrainingRecord.read(card).reproduced
        change = recorded.differences[config.as_posix()]["segmentation/mIoU"]
        assert change is not None
        assert change < -3
        content = json.loads(data.read_text(encoding="utf-8"))
        assert (content["exit_code"], content["reproduction"]) == (3, recorded.to_dict())

    def test_reproductions_beside_each_other_are_all_recorded(
        self, train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        config = write_tiny(tmp_path)
        card = publish_model(config, constant(config, 0))
        published = TrainingRecord.read(card)
        model, run = constant(config, 0), run_of(config)

        def meanwhile(*_: object, **__: object) -> tuple[object, object]:
            card.write_text(published.with_reproduction(again()).to_json(), encoding="utf-8")
            return model, run

        monkeypatch.setattr("pipeline.training.train", meanwhile)
        assert train(config, "--reproduce", "--work-dir", tmp_path / "work")[0] == 0
        assert len(TrainingRecord.read(card).reproduced) == 2

        def published_anew(*_: object, **__: object) -> tuple[object, object]:
            publish_model(config, constant(config, 1))
            return model, run

        monkeypatch.setattr("pipeline.training.train", published_anew)
        code, _, err = train(config, "--reproduce", "--work-dir", tmp_path / "work")
        assert code == 2
        assert "tiny.safetensors: other weights were published during this training; reproduce them again" in err
        assert TrainingRecord.read(card).reproduced == ()

    def refused(self, train: Train, config: Path, trained: Path, message: str) -> None:
        """With exit code 2, and without a trace on the card."""
        card = config.parent / "weights/tiny.json"
        before = card.read_bytes()
        code, _, err = train(config, "--reproduce", "--checkpoint", trained)
        assert code == 2
        assert message in err
        assert err.count("\n") == 1
        assert card.read_bytes() == before

    def test_the_published_training_itself_is_refused(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        trained = save_trained(config, constant(config, 0))
        assert train(config, "--publish", "--checkpoint", trained, "--remark", "first")[0] == 0
        self.refused(train, config, trained, "this is the training that tiny.safetensors was published from")

    def test_another_recipe_is_refused(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        publish_model(config, constant(config, 0))
        recipe = {**Recipe.from_config(load_config(config)).to_dict(), "num_scenes": 5}
        trained = save_trained(config, constant(config, 0), recipe=recipe)
        self.refused(train, config, trained, "by another recipe: train.num_scenes was 5 and is 2")

    def test_another_config_is_refused(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        publish_model(config, constant(config, 0))
        trained = save_trained(config, constant(config, 0), recipe=None, config="configs/y.py")
        self.refused(train, config, trained, f"was trained by configs/y.py, not by {config}")

    def test_a_config_that_changed_is_refused(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        publish_model(config, constant(config, 0))
        trained = save_trained(config, constant(config, 0), recipe=None)
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace("num_scenes=2", "num_scenes=3"), encoding="utf-8")
        self.refused(train, config, trained, "tiny.safetensors was published: train.num_scenes was 2 and is 3; put it")

    def test_an_older_checkpoint_is_recorded_as_one(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        card = publish_model(config, constant(config, 0))
        trained = save_trained(config, constant(config, 0), recipe=None, began=None)
        code, out, _ = train(config, "--reproduce", "--checkpoint", trained)
        assert code == 0
        assert f"{trained}: its checkpoint is older than the record of recipes" in out
        (recorded,) = TrainingRecord.read(card).reproduced
        assert recorded.recipe is None

    def test_half_a_training_is_refused(self, train: Train, tmp_path: Path) -> None:
        config = write_tiny(tmp_path)
        publish_model(config, constant(config, 0))
        trained = save_trained(config, constant(config, 0), iterations=1)
        self.refused(train, config, trained, "written after 1 iterations, the recipe has 2")


def test_publish_a_checkpoint(train: Train, tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    trained = save_trained(config, constant(config, 0), seed=3, iterations=1)
    code, out, _ = train(config, "--publish", "--checkpoint", trained)
    assert code == 0
    assert f"card {tmp_path}/weights/tiny.json\n" in out
    card = TrainingRecord.read(tmp_path / "weights/tiny.json")
    assert (card.training.seed, card.recipe["seed"], card.training.iterations) == (3, 3, 1)
    assert card.reproduced == ()
    assert card.datasets == {config.as_posix(): {**(load_config(config).dataset or {}), "images": IMAGES}}


def test_publishing_a_checkpoint_of_another_recipe_is_refused(train: Train, tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    recipe = {**Recipe.from_config(load_config(config)).to_dict(), "max_grad_norm": 1.0}
    code, _, err = train(config, "--publish", "--checkpoint", save_trained(config, constant(config, 0), recipe=recipe))
    assert code == 2
    assert "by another recipe: train.max_grad_norm was 1.0 and is 10.0" in err
    assert not (tmp_path / "weights/tiny.json").exists()


def test_a_training_that_diverged_does_not_replace_good_weights(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_tiny(tmp_path)
    publish_model(config, constant(config, 0))
    before = {path: path.read_bytes() for path in (tmp_path / "weights").iterdir()}
    diverged = constant(config, 0)
    diverged.get_parameter("decode_head.conv_seg.weight").data[0] = float("nan")
    monkeypatch.setattr("pipeline.training.train", lambda *_, **__: (diverged, run_of(config)))
    code, _, err = train(config, "--publish", "--work-dir", tmp_path / "work")
    assert code == 2
    assert 'the training has diverged: tensor "decode_head.conv_seg.weight" is not finite' in err
    assert {path: path.read_bytes() for path in (tmp_path / "weights").iterdir()} == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('dataset = dict(root="', 'dataset = dict(root="none', 'digits split "val": no /'),
        (
            "size=(64, 80)",
            '_delete_=True, resize="keep"',
            "training needs tensors of one size; give preprocess a size, or,",
        ),
        ("warmup=1", 'warmup="1"', """train: argument "warmup": got '1', expected int"""),
        ("side=32", "sides=32", 'train: pretrain: unknown argument "sides"; nearest: "side"'),
        ("model = dict(", 'model = dict(type="EncoderDecodr", ', 'unknown model type "EncoderDecodr"; nearest: "Enc'),
    ],
)
def test_faults_of_a_config_are_one_line(old: str, new: str, message: str, train: Train, tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    text = config.read_text(encoding="utf-8")
    assert old in text
    config.write_text(text.replace(old, new, 1), encoding="utf-8")
    checkpoint = tmp_path / "x.pth"
    torch.save({"state_dict": {}, "meta": {"training": facts()}}, checkpoint)
    code, out, err = train(config, "--checkpoint", checkpoint)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_bad_data_is_found_before_training(train: Train, tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    (tmp_path / "data/val/annotations.json").unlink()
    code, _, err = train(config, "--work-dir", tmp_path / "work")
    assert code == 2
    assert err.startswith('error: digits split "val": no ')
    assert not (tmp_path / "work").exists()


def test_a_work_dir_that_cannot_be_written_is_found_before_training(train: Train, tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    (tmp_path / "file").touch()
    code, _, err = train(config, "--work-dir", tmp_path / "file/work")
    assert code == 2
    assert err == f"error: {tmp_path}/file/work: cannot be written (Not a directory); give another --work-dir\n"
