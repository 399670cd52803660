"""Weights and their record are always of one publication, or become so with the next."""

import errno
import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pipeline.publishing.weights import check_publishable, publish_weights
from tests.pipeline.publishing.publish_weights_on_command import published
from tests.zoo.cards.training_records import again, record
from zoo.cards import TrainingRecord
from zoo.errors import InputError
from zoo.files.locks import locked

ROOT = Path(__file__).resolve().parents[3]
KILLER = Path(__file__).with_name("publish_weights_on_command.py")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


BOTH = ["x.json", "x.safetensors"]


def is_consistent(file: Path) -> bool:
    """Whether weights and record are of one publication."""
    return hashlib.sha256(file.read_bytes()).hexdigest() == TrainingRecord.read(file.with_suffix(".json")).sha256


def test_two_files_that_all_may_read(tmp_path: Path) -> None:
    file = published(tmp_path / "weights", b"one")
    assert names(file.parent) == BOTH
    assert is_consistent(file)
    assert {path.stat().st_mode & 0o044 for path in file.parent.iterdir()} == {0o044}
    published(file.parent, b"two")
    assert file.read_bytes() == b"two"
    assert is_consistent(file)


def test_a_record_without_new_weights_leaves_the_weights(tmp_path: Path) -> None:
    file = published(tmp_path, b"one")
    longer = record(b"one").with_reproduction(again())
    assert publish_weights(file, longer.to_json()) == tmp_path / "x.json"
    assert file.read_bytes() == b"one"
    assert TrainingRecord.read(tmp_path / "x.json") == longer


def test_a_record_that_is_none_stops_before_anything_is_written(tmp_path: Path) -> None:
    file = published(tmp_path, b"old")
    (tmp_path / "x.json").write_text("{", encoding="utf-8")
    (tmp_path / ".x.safetensors.new").write_bytes(b"half")
    with pytest.raises(InputError, match=r"card .*x\.json: not a JSON file .*; move it away"):
        published(tmp_path, b"new")
    assert file.read_bytes() == b"old"


def test_killed_at_any_file_operation(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, str(KILLER), str(tmp_path)], check=True, env=environment)
    cases = sorted(tmp_path.iterdir(), key=lambda path: int(path.name))
    assert len(cases) > 10
    versions = []
    for case in cases:
        file = case / "x.safetensors"
        if TrainingRecord.read(file.with_suffix(".json")) == record(b"old"):
            assert is_consistent(file), "nothing has changed"
        check_publishable(file)
        assert is_consistent(file)
        assert names(case) == BOTH
        versions.append(file.read_bytes())
    assert set(versions) == {b"old", b"new"}
    assert versions == sorted(versions, reverse=True), "first the old ones, then the new ones"


def test_a_publication_waits_for_another_one(tmp_path: Path) -> None:
    """Or it would take staged files of the other for those of one that was cut short."""
    staged = tmp_path / ".x.safetensors.new"
    staged.write_bytes(b"of another process")
    waiting = threading.Thread(target=check_publishable, args=(tmp_path / "x.safetensors",))
    with locked(tmp_path / ".x.safetensors.lock", make=True):
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        assert staged.exists()
    waiting.join(60)
    assert names(tmp_path) == []


@pytest.mark.parametrize("at", [1, 2])
def test_a_full_disk_leaves_the_old_ones(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = published(tmp_path, b"old")
    calls = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"weights and card cannot be written \(No space left on device\); make it"):
        published(tmp_path, b"new")
    assert len(calls) == at
    assert file.read_bytes() == b"old"
    assert is_consistent(file)
    assert names(tmp_path) == BOTH


def test_an_interruption_leaves_the_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = published(tmp_path, b"old")

    def interrupt(path: Path, target: Path) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        published(tmp_path, b"new")
    assert is_consistent(file)
    assert names(tmp_path) == BOTH


def test_it_is_known_before_the_long_work(tmp_path: Path) -> None:
    check_publishable(tmp_path / "new" / "x.safetensors")
    assert names(tmp_path / "new") == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"file: weights and card cannot be written \(File exists\)"):
        check_publishable(tmp_path / "file" / "x.safetensors")
