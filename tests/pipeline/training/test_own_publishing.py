"""Weights of one's own data, published where the training keeps its best ones, and trained again."""

from pathlib import Path

import pytest

from pipeline.training import begin_run, half_precision_file
from tests.pipeline.training.own_data import config_and_recipe, write_classifier
from zoo.build import build_model
from zoo.cards import TrainingRecord
from zoo.errors import InputError
from zooport.verbs import run_verb


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("best.*s*")}


def test_a_training_that_stopped_early_is_published_and_trained_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_classifier(tmp_path, iterations=30, more="val_interval=1, patience=2")
    work = tmp_path / "work"
    assert run_verb(["train", str(config), "--publish", "--work-dir", str(work)]) == 0
    published = files_of(work)
    assert published.keys() == {"best.safetensors", "best.json"}

    again = ["train", str(config), "--reproduce", "--seed", "1"]
    assert run_verb([*again, "--work-dir", str(work)]) == 2
    assert f"this training would replace {work}/best.safetensors, which it is compared" in capsys.readouterr().err
    assert files_of(work) == published

    assert run_verb([*again, "--work-dir", str(tmp_path / "again")]) in (0, 3)
    assert files_of(work)["best.safetensors"] == published["best.safetensors"]
    record = TrainingRecord.read(work / "best.json")
    (reproduced,) = record.reproduced
    assert reproduced.iterations < 30
    assert reproduced.sha256 != record.sha256


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config whose training gives its model at once; its best weights lie in the work dir, as published."""
    path = write_classifier(tmp_path)
    config, recipe = config_and_recipe(path)
    run = begin_run(path, recipe, amp=False)
    monkeypatch.setattr("pipeline.training.train", lambda *_, **__: (build_model(config, weights=False), run))
    (tmp_path / "work").mkdir()
    (tmp_path / "work/best.safetensors").write_bytes(half_precision_file(build_model(config, weights=False)))
    (tmp_path / "work/best.json").write_text('{"sha256": ""}', encoding="utf-8")
    return path


def test_a_publication_that_fails_leaves_the_published_weights(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise InputError("no room")

    monkeypatch.setattr("zooport.commands.train.scored", fails)
    work = trained.parent / "work"
    before = files_of(work)
    assert run_verb(["train", str(trained), "--publish", "--work-dir", str(work)]) == 2
    assert files_of(work) == before
    assert run_verb(["train", str(trained), "--work-dir", str(work)]) == 2
    assert files_of(work)["best.safetensors"] != before["best.safetensors"], "it is kept without --publish"
