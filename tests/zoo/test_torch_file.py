"""What mmengine's Runner writes is read; what could run code is not."""

import builtins
import copy
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
import torch
from mmengine.logging import HistoryBuffer
from torch import nn

from zoo.checkpoint import load_checkpoint
from zoo.errors import InputError
from zoo.torch_file import INERT_TYPES, Inert, read_torch_file

WRITER = Path(__file__).with_name("write_runner_checkpoint.py")


def small(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))


class Calls:
    """Unpickling it calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.function, self.arguments


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a plain Runner; beside it `expected.pth`, the weights alone."""
    folder = tmp_path_factory.mktemp("runner")
    subprocess.run([sys.executable, str(WRITER), str(folder)], check=True, capture_output=True)
    return folder / "epoch_2.pth"


@pytest.mark.slow
class TestRunner:
    def test_torch_alone_refuses_its_checkpoint(self, written: Path) -> None:
        with pytest.raises(Exception, match="Weights only load failed"):
            torch.load(written, weights_only=True)

    def test_its_weights_are_loaded(self, written: Path) -> None:
        expected = torch.load(written.with_name("expected.pth"), weights_only=True)
        loaded = small(2)
        load_checkpoint(loaded, written)
        assert all(torch.equal(tensor, expected[name]) for name, tensor in loaded.state_dict().items())

    def test_the_rest_of_it_is_read_without_its_history(self, written: Path) -> None:
        content = read_torch_file(written)
        assert content["meta"]["iter"] == 4
        assert content["optimizer"]["param_groups"][0]["lr"] == pytest.approx(1e-4)
        history = content["message_hub"]["log_scalars"]["train/loss"]
        assert type(history) is Inert
        assert not vars(history)


def test_the_flags_of_a_training_are_left_out(tmp_path: Path) -> None:
    """As timm's and torchvision's own scripts keep them."""
    torch.save({"state_dict": small(1).state_dict(), "args": Namespace(lr=0.1, amp=True)}, tmp_path / "w.pth")
    content = read_torch_file(tmp_path / "w.pth")
    assert type(content["args"]) is Inert
    assert content["state_dict"].keys() == small(1).state_dict().keys()


def test_nothing_stays_allowed(tmp_path: Path) -> None:
    before = set(torch.serialization.get_safe_globals())
    torch.save({"history": HistoryBuffer([1.0], [1])}, tmp_path / "w.pth")
    read_torch_file(tmp_path / "w.pth")
    assert set(torch.serialization.get_safe_globals()) == before
    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(tmp_path / "w.pth", weights_only=True)


@pytest.mark.parametrize(
    "bad",
    [
        lambda path: Calls(builtins.open, str(path), "w"),
        lambda path: Calls(os.mkdir, str(path)),
        lambda path: Calls(builtins.eval, f"open({str(path)!r}, 'w')"),
        lambda path: Calls(np.memmap, str(path), "uint8", "w+", 0, (1,)),
        lambda path: HistoryBuffer([Calls(builtins.open, str(path), "w")], [1]),
    ],
    ids=["open", "mkdir", "eval", "memmap", "inside-history"],
)
def test_code_is_refused_and_not_run(bad: Any, tmp_path: Path) -> None:
    torch.save({"state_dict": small(1).state_dict(), "message_hub": bad(tmp_path / "owned")}, tmp_path / "w.pth")
    with pytest.raises(InputError, match="holds pickled Python objects"):
        read_torch_file(tmp_path / "w.pth")
    assert not (tmp_path / "owned").exists()


def test_what_is_allowed_is_not_called(tmp_path: Path) -> None:
    """The door that an allowed getattr would be: a method of an object, and then its result."""
    torch.save({"door": Calls(getattr, "text", "upper"), "array": np.arange(3)}, tmp_path / "w.pth")
    content = read_torch_file(tmp_path / "w.pth")
    assert {type(value) for value in content.values()} == {Inert}


def test_the_result_of_a_stand_in_cannot_be_called(tmp_path: Path) -> None:
    # what pickle would not write by itself: GLOBAL getattr, REDUCE ("text", "upper"), REDUCE ()
    door = b"\x80\x02c__builtin__\ngetattr\nX\x04\x00\x00\x00textX\x05\x00\x00\x00upper\x86R)R."
    torch.save({}, tmp_path / "plain.pth")
    with ZipFile(tmp_path / "plain.pth") as plain, ZipFile(tmp_path / "w.pth", "w") as made:
        for name in plain.namelist():
            made.writestr(name, door if name.endswith("data.pkl") else plain.read(name))
    with pytest.raises(InputError, match=r"w\.pth holds pickled Python objects"):
        read_torch_file(tmp_path / "w.pth")


def test_each_allowed_name_is_one_that_pickle_writes() -> None:
    assert len(set(INERT_TYPES)) == len(INERT_TYPES)
    for name in INERT_TYPES:
        module, _, attribute = name.rpartition(".")
        if not module.startswith("numpy.core"):  # numpy 1's, which numpy 2 warns of
            assert hasattr(__import__(module, fromlist=[attribute]), attribute), name


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.pth: no such file"):
        read_torch_file(tmp_path / "none.pth")


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    """Ten megabytes of zeros in a few kilobytes; torch alone would unpack them."""
    torch.save({"x": torch.zeros(10_000_000, dtype=torch.uint8)}, tmp_path / "plain.pth")
    with ZipFile(tmp_path / "plain.pth") as plain, ZipFile(tmp_path / "w.pth", "w", ZIP_DEFLATED) as made:
        for name in plain.namelist():
            made.writestr(name, plain.read(name))
    assert (tmp_path / "w.pth").stat().st_size < 100_000
    assert torch.load(tmp_path / "w.pth", weights_only=True)["x"].numel() == 10_000_000
    with pytest.raises(InputError, match=r"w\.pth was not loaded: its archive is compressed.*save it with torch\.save"):
        read_torch_file(tmp_path / "w.pth")


def test_an_archive_that_declares_more_than_it_has_is_refused(tmp_path: Path) -> None:
    """Members that share their bytes, each as long as the file."""
    torch.save({"x": torch.zeros(1000)}, tmp_path / "w.pth")
    with ZipFile(tmp_path / "w.pth", "a") as archive:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
        for number in range(10):
            copied = copy.copy(largest)
            copied.filename = f"archive/data/{number + 9}"
            archive.filelist.append(copied)
        archive._didModify = True  # type: ignore[attr-defined]  # writes the directory again
    with pytest.raises(InputError, match=r"declares more than it holds \(\d+ bytes in a file of \d+\)"):
        read_torch_file(tmp_path / "w.pth")


def test_older_files_that_are_no_archive_are_read(tmp_path: Path) -> None:
    torch.save({"x": torch.ones(3)}, tmp_path / "w.pth", _use_new_zipfile_serialization=False)
    assert torch.equal(read_torch_file(tmp_path / "w.pth")["x"], torch.ones(3))


def test_a_compressed_archive_is_refused_whatever_its_size(tmp_path: Path) -> None:
    torch.save({"x": torch.randint(256, (5000,), dtype=torch.uint8)}, tmp_path / "plain.pth")
    with ZipFile(tmp_path / "plain.pth") as plain, ZipFile(tmp_path / "w.pth", "w") as made:
        for name in plain.namelist():
            made.writestr(name, plain.read(name), ZIP_DEFLATED if name.endswith("/0") else None)
    with ZipFile(tmp_path / "w.pth") as made:
        assert sum(member.file_size for member in made.infolist()) < (tmp_path / "w.pth").stat().st_size
    with pytest.raises(InputError, match="its archive is compressed"):
        read_torch_file(tmp_path / "w.pth")
