"""The start of a case in a process of its own: how long until its first result, and how much memory it takes."""

import logging
import os
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import NamedTuple

from backends.benchmark.case import Case
from backends.calls import Array
from zoo.errors import ExportError
from zoo.peak_memory import peak_resident_memory


class ColdStart(NamedTuple):
    """Seconds from the start of the process to its first result; of these, seconds of loading the model.

    `memory`: bytes of the process at its peak, when each worker has made a call.
    """

    first: float
    load: float
    memory: int


def cold_start(case: Case, images: Sequence[Array]) -> ColdStart:
    """Start a process, load the case's model there, and call it. Raises what a load and a call raise."""
    context = get_context("spawn")  # a fork would have the libraries of this process loaded
    with ProcessPoolExecutor(1, context, initializer=_silence) as process:
        try:
            return process.submit(_start, case, images, time.monotonic()).result()
        except BrokenProcessPool as error:
            raise ExportError(
                f"{case.subject.name}: the process that loaded it ended without a result; is there enough memory?"
            ) from error


def _start(case: Case, images: Sequence[Array], begin: float) -> ColdStart:
    """In that process. ``begin``: of the clock that all processes of a machine share."""
    before = time.monotonic()
    with case.subject.open(case.setting) as model:
        loaded = time.monotonic()
        model(images)
        first = time.monotonic()
        if model.pool is not None:
            for future in [model.submit(images) for _ in range(model.pool.workers)]:
                future.result()
        return ColdStart(first - begin, loaded - before, peak_resident_memory())


def _silence() -> None:
    """What is to be said comes back as a result or an exception. Ctrl-C is for the process that waits for this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
