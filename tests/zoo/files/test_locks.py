import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from zoo.files.locks import locked

ROOT = Path(__file__).parents[3]
HOLD = """
import sys, time
from pathlib import Path
from zoo.files.locks import locked
with locked(Path(sys.argv[1]), make=True):
    print("held", flush=True)
    time.sleep(60)
"""


FORKS = """
import os, signal, sys, time
from pathlib import Path
from zoo.files.locks import locked
with locked(Path(sys.argv[1]), make=True):
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, b"1")
        time.sleep(60)
        os._exit(0)
    os.read(reader, 1)
    print(child, flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_lock_that_is_held_is_refused_or_waited_for(tmp_path: Path) -> None:
    path, order = tmp_path / "lock", []

    def wait() -> None:
        with locked(path):
            order.append("second")

    with locked(path, make=True):
        with pytest.raises(BlockingIOError), locked(path, wait=False):
            pass
        waiting = threading.Thread(target=wait)
        waiting.start()
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]
    assert path.exists()


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), locked(path, wait=False):
            pass
        holder.kill()
        holder.wait()
    with locked(path, wait=False) as descriptor:
        assert os.path.samestat(os.fstat(descriptor), path.stat())


def test_a_folder_is_locked_without_a_file_of_ours(tmp_path: Path) -> None:
    with locked(tmp_path):
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(BlockingIOError), locked(tmp_path, wait=False):
            pass


def test_what_is_not_there_is_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), locked(tmp_path / "lock"):
        pass
    assert not (tmp_path / "lock").exists()


def test_a_file_that_its_holder_removes_is_locked_anew(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    inside = threading.Event()
    release = threading.Event()

    def second() -> None:
        with locked(path, make=True) as descriptor:
            assert os.path.samestat(os.fstat(descriptor), path.stat())
            inside.set()
            release.wait(60)

    with locked(path, make=True):
        waiting = threading.Thread(target=second)
        waiting.start()
        path.unlink()
    assert inside.wait(60)
    with pytest.raises(BlockingIOError), locked(path, wait=False):
        pass
    release.set()
    waiting.join()


def test_a_forked_child_that_outlives_its_parent_holds_no_lock(tmp_path: Path) -> None:
    """As the workers of a training's data loader do for some seconds."""
    path = tmp_path / "lock"
    command = [sys.executable, "-c", FORKS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            with pytest.raises(BlockingIOError), locked(path, wait=False):  # the parent has it
                pass
            process.stdin.write("die\n")
            process.stdin.flush()
            process.wait()
            with locked(path, wait=False):
                os.kill(child, 0)  # it is still there
        finally:
            os.kill(child, signal.SIGKILL)
