"""Cells of the GPU kit in processes forked from one that has imported everything: how they end, and what is left."""

import os
import sys
import time
from pathlib import Path
from threading import Event

import pytest

from pipeline.regression.child import Stopped

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("benchmarks")]
ROOT = Path(__file__).resolve().parents[2]


def work(how: str, file: Path) -> None:
    file.write_text(str("gpu.contenders" in sys.modules))
    if how == "hangs":
        time.sleep(600)
    if how == "crashes":
        os.abort()
    if how == "fails":
        raise ValueError("it failed")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Run":
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")]))
    return Run(tmp_path)


class Run:
    """A call of run_forked in a folder."""

    def __init__(self, folder: Path) -> None:
        self.file, self.log = folder / "file", folder / "log"

    def __call__(self, how: str, *, seconds: float = 120, stop: Event | None = None) -> int | None:
        from gpu.forked import run_forked

        deadline = time.monotonic() + seconds
        return run_forked(work, how, self.file, log=self.log, deadline=deadline, stop=stop or Event())


def test_everything_is_imported_before_it_begins(run: Run) -> None:
    assert run("ends") == 0
    assert run.file.read_text() == "True"


def test_a_fault_and_a_crash_are_in_the_log(run: Run) -> None:
    assert run("fails") == 1
    assert run.log.read_text().strip().endswith("ValueError: it failed")
    assert run("crashes") == -6
    assert "Fatal Python error: Aborted" in run.log.read_text()


def test_what_hangs_is_ended(run: Run) -> None:
    assert run("hangs", seconds=20) is None
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        run("hangs", stop=stop)
