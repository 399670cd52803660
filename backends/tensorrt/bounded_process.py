"""A process of our own with a time and a memory limit, that leaves nothing running.

The memory is watched from outside. With a limit of the kernel's (RLIMIT_DATA, RLIMIT_AS) the allocation fails inside
TensorRT's native code, which was seen to say so, to crash, to report something else, or to hang; and RLIMIT_AS counts
the addresses that CUDA reserves.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

POLL_SECONDS = 0.05
KIB_IN_MIB = 1024


class Limit(Enum):
    """What a process was ended for."""

    TIME = "time"
    MEMORY = "memory"


class Ended(NamedTuple):
    """How a process ended, by itself or at a limit: its exit status (minus the signal's number).

    `answer`: what it wrote to stdout, a pipe, which no full disk cuts; `said`: to stderr.
    """

    status: int | Limit
    answer: str
    said: str


def run_bounded(
    command: Sequence[str], stdin: str, seconds: float, memory_mib: int | None, environment: Mapping[str, str]
) -> Ended:
    """Run the command with `stdin` on its stdin, with at most so many seconds and MiB of memory (None: no limit).

    It has this process's environment, with `environment` in it, and finds the modules that this one finds. The memory
    is what is its own, not that of mapped files; only Linux tells it. It and all that it started are killed at a limit
    and at an exception, KeyboardInterrupt among them.
    """
    search_path = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109 - "" is the current folder
    until = time.monotonic() + seconds
    unsent: str | None = stdin
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, **environment, "PYTHONPATH": search_path},
        start_new_session=True,
    ) as process:
        try:
            while True:
                try:
                    answer, said = process.communicate(unsent, timeout=POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    unsent = None  # a second call goes on with what the first was given
                    limit = _passed(process.pid, until, memory_mib)
                    if limit is not None:
                        _kill(process)
                        return Ended(limit, *process.communicate())
                else:
                    return Ended(process.returncode, answer, said)
        except BaseException:
            _kill(process)
            raise


def _passed(pid: int, until: float, memory_mib: int | None) -> Limit | None:
    if time.monotonic() > until:
        return Limit.TIME
    if memory_mib is not None and own_memory_kib(pid) > memory_mib * KIB_IN_MIB:
        return Limit.MEMORY
    return None


def own_memory_kib(pid: int) -> int:
    """The memory that a process has filled, KiB, without mapped files (proc(5), RssAnon); 0 where it is not known."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")), 0)


def _kill(process: "subprocess.Popen[str]") -> None:
    """The whole group: nothing of it keeps our pipe open."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
