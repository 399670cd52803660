"""Cells in processes that are forked from one that has imported everything: importing takes longer than most cells."""

import faulthandler
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event
from typing import Any

from pipeline.regression.child import GRACE, LOOK, Stopped


def run_forked(work: Callable[..., None], *arguments: Any, log: Path, deadline: float, stop: Event) -> int | None:
    """Call ``work`` in a process, and a process group, of its own; as run_child in all else.

    ``work`` and its arguments are pickled; PYTHONPATH must name where gpu.preloaded and what it imports are.
    """
    child = _context().Process(target=_begin, args=(log, work, arguments))
    child.start()
    try:
        while not stop.is_set() and time.monotonic() < deadline:
            child.join(LOOK)
            if child.exitcode is not None:
                return child.exitcode
    finally:
        _end(child)
    if stop.is_set():
        raise Stopped
    return None


@cache
def _context() -> ForkServerContext:
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # torch.cuda.is_available() starts CUDA otherwise, for good
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["gpu.preloaded"])
    return context


def _begin(log: Path, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    with log.open("wb") as output:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(output.fileno(), stream.fileno())
    faulthandler.enable()
    work(*arguments)


def _end(child: BaseProcess) -> None:
    """Leave nothing of the child's group alive."""
    for number, seconds in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        if child.pid is not None:
            with suppress(ProcessLookupError):  # the group is gone
                os.killpg(child.pid, number)
        child.join(seconds)
