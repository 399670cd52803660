"""Weights, card and page are always of one publication, or become so with the next."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch import nn

from pipeline.training import CheckpointCard, check_publishable, half_precision_file, publish, round_to_half
from pipeline.training.publishing import settle
from tests.pipeline.training.cards import again, card, is_consistent, published
from zoo.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
KILLER = Path(__file__).with_name("publish_card_on_command.py")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


THREE = ["x.json", "x.md", "x.safetensors"]


def test_three_files_that_all_may_read(tmp_path: Path) -> None:
    file = published(tmp_path / "weights", b"one")
    assert names(file.parent) == THREE
    assert is_consistent(file)
    assert {path.stat().st_mode & 0o044 for path in file.parent.iterdir()} == {0o044}
    published(file.parent, b"two")
    assert file.read_bytes() == b"two"
    assert is_consistent(file)


def test_a_card_without_new_weights_leaves_the_weights(tmp_path: Path) -> None:
    file = published(tmp_path, b"one")
    publish(card(b"one").with_reproduction(again()), tmp_path)
    assert file.read_bytes() == b"one"
    assert is_consistent(file)
    assert "Made again" in file.with_suffix(".md").read_text(encoding="utf-8")


def test_half_precision() -> None:
    model = nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)).to(memory_format=torch.channels_last)
    state = load(half_precision_file(model))
    assert {name: tensor.dtype for name, tensor in state.items()} == {
        name: torch.float16 if tensor.is_floating_point() else tensor.dtype
        for name, tensor in model.state_dict().items()
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e5])
@pytest.mark.parametrize("name", ["0.weight", "1.running_var"])
def test_what_is_not_finite_in_half_precision_is_refused(name: str, value: float) -> None:
    model = nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))
    model.state_dict()[name].view(-1)[0] = value
    for refuse in (half_precision_file, round_to_half):
        with pytest.raises(InputError, match=f'training has diverged: tensor "{name}" is not finite in half precision'):
            refuse(model)


def test_killed_at_any_file_operation(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, str(KILLER), str(tmp_path)], check=True, env=environment)
    cases = sorted(tmp_path.iterdir(), key=lambda path: int(path.name))
    assert len(cases) > 10
    versions = []
    for case in cases:
        file = case / "x.safetensors"
        if CheckpointCard.read(file.with_suffix(".json")) == card(b"old"):
            assert is_consistent(file), "nothing has changed"
        settle(file)
        assert is_consistent(file)
        assert names(case) == THREE
        versions.append(file.read_bytes())
    assert set(versions) == {b"old", b"new"}
    assert versions == sorted(versions, reverse=True), "first the old ones, then the new ones"


@pytest.mark.parametrize("at", [1, 2, 3])
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
    assert names(tmp_path) == THREE


def test_an_interruption_leaves_the_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = published(tmp_path, b"old")

    def interrupt(path: Path, target: Path) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        published(tmp_path, b"new")
    assert is_consistent(file)
    assert names(tmp_path) == THREE


def test_it_is_known_before_the_long_work(tmp_path: Path) -> None:
    check_publishable(tmp_path / "new" / "x.safetensors")
    assert names(tmp_path / "new") == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"file: weights and card cannot be written \(File exists\)"):
        check_publishable(tmp_path / "file" / "x.safetensors")
