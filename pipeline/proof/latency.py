"""How long one call takes, PyTorch beside the backend: a first impression for the report, on an unprepared machine."""

import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from backends.registry import get_backend
from backends.runner import Runner
from pipeline.job.eager import job_runner
from pipeline.job.job import Job
from pipeline.proof.fallback_runtime import open_deployment
from pipeline.proof.latency_record import Latency

Arrays = Mapping[str, NDArray[Any]]
TURNS = 2  # of each side
CALLS = 15  # of one turn at most
SECONDS = 0.2  # of one turn, after which no further call begins
PAUSE = 0.06  # seconds before a turn; ONNX Runtime's threads spin for 50 ms, and would take a core from PyTorch


def latency(job: Job, model: nn.Module, folder: Path, arrays: Arrays) -> list[Latency]:
    """Tensors in, tensors out, in turns, each after a call that is not timed.

    Nothing where the backend cannot run here. ``arrays``: the inputs of the deployment in ``folder``, by name.
    """
    opened = open_deployment(folder)
    with opened.deployment as deployment:
        return [] if opened.note is not None else _in_turns(job, model, deployment.runner, arrays)


def _in_turns(job: Job, model: nn.Module, runner: Runner, arrays: Arrays) -> list[Latency]:
    target = job.target
    eager = job_runner(job, model)
    device = get_backend(target.backend).device(target.device)
    runs: dict[str, Callable[[], Any]] = {
        "PyTorch, cpu": lambda: eager.run(arrays),
        f"{target.backend}, {device}": lambda: runner.run_float32(arrays),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for name, run in TURNS * list(runs.items()):
        time.sleep(PAUSE)
        run()  # brings its own threads and caches back
        seconds[name] += _turn(run)
    batch = arrays[job.task.kind.inputs[0].name].shape[0]
    return [_row(name, batch, times) for name, times in seconds.items()]


def _turn(run: Callable[[], Any]) -> list[float]:
    marks = [time.perf_counter()]
    while len(marks) <= CALLS and (len(marks) == 1 or marks[-1] - marks[0] < SECONDS):
        run()
        marks.append(time.perf_counter())
    return [after - before for before, after in itertools.pairwise(marks)]


def _row(name: str, batch: int, seconds: list[float]) -> Latency:
    p50, p90, p99 = (float(value) for value in 1e3 * np.percentile(seconds, (50, 90, 99)))
    return Latency(name, batch, p50, p90, p99, len(seconds))
