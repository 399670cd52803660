"""SIGKILL at any moment leaves the old deployment or the new one; the next run cleans up. SIGTERM leaves nothing."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from pipeline.publishing.publish import publication
from tests.examples import TEST_ALL, slow_but
from zoo.errors import InputError

EVERY = 1 if TEST_ALL in os.environ else 11  # operations, of which the publisher is killed at one
PUBLISHER = Path(__file__).parent / "publish_on_command.py"
RANDOM_KILLS = 150 if TEST_ALL in os.environ else 12
PUBLICATIONS = 3  # of a run that is killed, at most


class Publisher:
    """Sends commands to a process that publishes in children."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PUBLISHER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, place: Path, version: int, mode: str, kill_at: int) -> int:
        """The child's pid."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{place} {version} {mode} {kill_at}\n")
        self.process.stdin.flush()
        return int(self.answer())

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture(scope="module")
def publisher() -> Iterator[Publisher]:
    made = Publisher()
    yield made
    made.process.communicate()


def version_at(place: Path) -> int | None:
    """The version of a whole deployment; None where there is none. Fails where it is not whole."""
    if not place.exists():
        return None
    manifest = json.loads((place / "deployment.json").read_text(encoding="utf-8"))
    model = (place / "model.onnx").read_bytes()
    assert hashlib.sha256(model).hexdigest() == manifest["sha256"]
    return int(manifest["version"])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def publish_once_more(place: Path, beside: Collection[str] = ()) -> None:
    """The next run: it works, and nothing is left beside the place but what is named."""
    with publication(place) as folder:
        model = b"next"
        (folder / "model.onnx").write_bytes(model)
        manifest = {"version": 99, "sha256": hashlib.sha256(model).hexdigest()}
        (folder / "deployment.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert version_at(place) == 99
    assert {*names(place.parent)} == {place.name, *beside}


@pytest.mark.parametrize("mode", slow_but(["exchange", "aside"], "exchange"))
@pytest.mark.parametrize("first", [True, False], ids=["new place", "old deployment there"])
def test_killed_at_every_file_operation(publisher: Publisher, tmp_path: Path, mode: str, first: bool) -> None:
    seen = set()
    for kill_at in range(1, 400, EVERY):
        place = tmp_path / str(kill_at) / "place"
        if not first:
            publisher.start(place, 1, mode, 0)
            assert publisher.answer() == "done"
            assert version_at(place) == 1
        publisher.start(place, 2, mode, kill_at)
        assert publisher.answer() == "done"
        found = version_at(place)
        seen.add(found)
        if mode == "exchange" and not first:
            assert found in (1, 2)  # at no moment is there none
        leftovers = names(place.parent) if place.parent.exists() else []
        publish_once_more(place)
        if found == 2 and leftovers == ["place"]:
            break  # it was not killed any more
    else:
        pytest.fail("the publication never came to its end")
    assert kill_at > 20
    expected = {None, 2} if first else {1, 2}
    assert expected <= seen <= expected | {None}


@pytest.mark.parametrize("mode", ["exchange", pytest.param("aside", marks=pytest.mark.slow)])
def test_killed_at_every_file_operation_it_loses_no_file_of_the_users(
    publisher: Publisher, tmp_path: Path, mode: str
) -> None:
    for kill_at in range(1, 400, EVERY):
        place = tmp_path / str(kill_at) / "place"
        publisher.start(place, 1, mode, 0)
        assert publisher.answer() == "done"
        publisher.start(place, 2, f"{mode}+notes", kill_at)
        assert publisher.answer() == "done"
        leftovers = names(place.parent)
        written = [folder for folder in place.parent.iterdir() if (folder / "notes.txt").exists()]
        if written == [place] or (written and not place.exists()):  # there, or put back there by the next run
            with pytest.raises(InputError, match=f"^{place}: holds notes.txt beside"):
                publish_once_more(place)
        else:
            publish_once_more(place, beside={"place.kept"} if written else ())
        assert len([*place.parent.glob("*/notes.txt")]) == len(written)
        if "place.kept" in leftovers and leftovers == ["place", "place.kept"]:
            break
    else:
        pytest.fail("the publication never came to its end")


@pytest.mark.parametrize(
    ("mode", "first"),
    [
        ("exchange+terms", False),
        *(pytest.param(f"{mode}+term", False, marks=pytest.mark.slow) for mode in ("exchange", "aside")),
        *(pytest.param(mode, True, marks=pytest.mark.slow) for mode in ("exchange+term", "exchange+terms")),
        pytest.param("aside+terms", False, marks=pytest.mark.slow),
    ],
)
def test_a_signal_at_every_file_operation_leaves_nothing_hidden(
    publisher: Publisher, tmp_path: Path, mode: str, first: bool
) -> None:
    seen = set()
    for kill_at in range(1, 400, EVERY):
        place = tmp_path / str(kill_at) / "place"
        if not first:
            publisher.start(place, 1, mode, 0)
            assert publisher.answer() == "done"
        publisher.start(place, 2, mode, kill_at)
        assert publisher.answer() == "done"
        version = version_at(place)
        seen.add(version)
        if place.parent.exists():
            assert names(place.parent) == ["place"] * (version is not None), kill_at
        if version == 2 and kill_at > 40:
            break
    assert seen == {2, None if first else 1}


@pytest.mark.parametrize("mode", ["exchange", pytest.param("aside", marks=pytest.mark.slow)])
def test_killed_at_random_moments(publisher: Publisher, tmp_path: Path, mode: str) -> None:
    place = tmp_path / "killed" / "place"
    chance = random.Random(0)
    begin = time.perf_counter()
    publisher.start(tmp_path / "undisturbed" / "place", 1, mode, 0)
    assert publisher.answer() == "done"
    longest = PUBLICATIONS * (time.perf_counter() - begin)
    last = 0
    for round_ in range(RANDOM_KILLS):
        pid = publisher.start(place, round_ * 1000 + 1, mode, -1)
        time.sleep(chance.random() * longest)
        os.kill(pid, signal.SIGKILL)
        assert publisher.answer() == "done"
        found = version_at(place)
        if found is None:
            assert last == 0 or mode == "aside"
        else:
            assert found >= last
            last = found
    assert last > 0
    publish_once_more(place)


def test_the_next_run_puts_an_old_deployment_back_that_was_moved_aside(tmp_path: Path) -> None:
    (tmp_path / ".place.zooport-old").mkdir()
    (tmp_path / ".place.zooport-old" / "deployment.json").write_text("{}", encoding="utf-8")
    with publication(tmp_path / "place") as folder:
        assert (tmp_path / "place" / "deployment.json").read_text(encoding="utf-8") == "{}"
        (folder / "deployment.json").write_text("new", encoding="utf-8")
    assert names(tmp_path) == ["place"]
