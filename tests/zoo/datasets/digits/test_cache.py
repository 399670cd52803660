"""The cached splits: made once, whole or not at all."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.datasets import DIGITS_ROOT, DigitsDetection, DigitsInstances, DigitsSegmentation
from zoo.datasets.digits import split as digits_split
from zoo.datasets.digits.cache import cache_root, ensure_split, split_folder
from zoo.errors import InputError

COUNT = 6
# A process that makes a small gate split; it counts the images that it has written itself.
MAKER = f"""
import sys, time
from zoo.datasets.digits import split as digits_split
from zoo.datasets.digits.cache import ensure_split
digits_split.SPLIT_SIZES["gate"] = {COUNT}
def report(_split, done, count):
    print(done, count, flush=True)
    time.sleep(float(sys.argv[1]))
print(ensure_split("gate", report))
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(digits_split.SPLIT_SIZES, "gate", COUNT)
    return tmp_path / "zooport" / "digits-1"


def maker(pause: float = 0.0) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", MAKER, str(pause)], stdout=subprocess.PIPE, text=True)


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name not in ("gate", ".gate.lock")]


def test_a_missing_gate_says_how_to_make_it(cache: Path) -> None:
    words = f'digits split "gate": no {cache}/gate/annotations.json; make it with python tools/make_digits.py gate'
    for kind in (DigitsDetection, DigitsInstances, DigitsSegmentation):
        with pytest.raises(InputError) as raised:
            kind(split="gate")
        assert str(raised.value) == words


def test_it_is_made_once(cache: Path) -> None:
    reported: list[tuple[int, int]] = []
    folder = ensure_split("gate", lambda _, done, total: reported.append((done, total)))
    assert folder == cache / "gate"
    assert reported == [(done, COUNT) for done in range(1, COUNT + 1)]
    made = (folder / "annotations.json").stat().st_mtime_ns
    assert ensure_split("gate", lambda *_: pytest.fail("made again")) == folder
    assert (folder / "annotations.json").stat().st_mtime_ns == made
    assert len(DigitsDetection(split="gate")) == len(DigitsSegmentation(split="gate")) == COUNT
    assert hidden(cache) == []


def test_val_is_the_shipped_one() -> None:
    assert ensure_split("val") == split_folder("val") == DIGITS_ROOT / "val"


def test_an_unknown_split() -> None:
    with pytest.raises(InputError, match='unknown split "gates" of digits; nearest: "gate"'):
        ensure_split("gates")


def test_a_relative_cache_home_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "here"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_root() == tmp_path / ".cache" / "zooport" / "digits-1"


@pytest.mark.parametrize("home", ["", "here"])
def test_no_home_that_could_hold_the_cache(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", home)
    with pytest.raises(InputError, match=f'got HOME="{home}"; set XDG_CACHE_HOME to an absolute path'):
        DigitsDetection("gate")


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(InputError, match="got no home folder; set XDG_CACHE_HOME to an absolute path"):
        ensure_split("gate")


def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    cache.parent.write_text("a file", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        ensure_split("gate")
    assert str(raised.value) == (
        f"{cache}/gate cannot be written: Not a directory; set XDG_CACHE_HOME to a folder that can, or make the split "
        "elsewhere with python tools/make_digits.py gate --out DIR and give the data set root=DIR"
    )


def test_a_failure_leaves_nothing(cache: Path) -> None:
    def fail(_split: str, done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure_split("gate", fail)
    assert not (cache / "gate").exists()
    assert hidden(cache) == []


@pytest.mark.slow  # make test has half a split below
def test_what_a_killed_run_leaves_is_not_taken_for_whole(cache: Path) -> None:
    with maker(pause=60) as process:
        assert process.stdout
        assert process.stdout.readline() == f"1 {COUNT}\n"
        process.send_signal(signal.SIGKILL)
    assert len(hidden(cache)) == 1  # its half
    with pytest.raises(InputError, match="make it with"):
        DigitsDetection(split="gate")
    ensure_split("gate")
    assert len(DigitsDetection(split="gate")) == COUNT
    assert hidden(cache) == []


def test_half_a_split_in_its_place_is_made_again(cache: Path) -> None:
    (cache / "gate" / "images").mkdir(parents=True)
    (cache / "gate" / "images" / "000099.jpg").write_bytes(b"")
    folder = ensure_split("gate")
    assert len(list((folder / "images").iterdir())) == COUNT


@pytest.mark.slow
def test_two_at_once_make_one(cache: Path) -> None:
    with maker(pause=0.5) as first, maker() as second:
        outs = [process.communicate()[0].splitlines() for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert [out[-1] for out in outs] == [str(cache / "gate")] * 2
    assert sorted(map(len, outs)) == [1, 1 + COUNT], "one makes it, the other waits for that"
    assert len(json.loads((cache / "gate" / "annotations.json").read_text(encoding="utf-8"))["images"]) == COUNT
    assert hidden(cache) == []


def test_the_cache_folder_can_be_read_by_whom_the_umask_says(cache: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = ensure_split("gate")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o755
