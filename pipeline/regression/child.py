"""A process that may crash or hang without taking this one along."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event

GRACE = 10.0  # seconds between SIGTERM and SIGKILL: a deploy removes what is half written
LOOK = 0.2  # seconds between two looks at `stop`


class Stopped(BaseException):
    """The process was ended because everything is to end; no error, as KeyboardInterrupt is none."""


def run_child(command: Sequence[str], log: Path, *, deadline: float, stop: Event) -> int | None:
    """Run a command in a process group of its own; its exit code (below 0: a signal), None where it took too long.

    What it prints goes to ``log``. ``deadline``: by time.monotonic(). Nothing of the group is left afterwards, also
    where a child of the child lived on. Raises Stopped soon after ``stop`` was set.
    """
    # a crash inside a library leaves Python's stack in the log; lines of stdout and stderr keep their order
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603  # the tools of this repository
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            while not stop.is_set() and time.monotonic() < deadline:
                with suppress(subprocess.TimeoutExpired):
                    return child.wait(LOOK)
        finally:
            _end(child)
    if stop.is_set():
        raise Stopped
    return None


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Leave nothing of the child's group alive."""
    if child.poll() is None:
        _signal(child, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
    _signal(child, signal.SIGKILL)
    child.wait()


def _signal(child: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # the group is gone
        os.killpg(child.pid, number)
