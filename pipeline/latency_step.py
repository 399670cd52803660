"""How long one call takes, PyTorch beside the backend: a first impression for the report, on an unprepared machine."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from backends.runner import Runner
from pipeline.device import engine_device
from pipeline.job import Job
from pipeline.opened import open_deployment
from pipeline.parity.graph_parity import eager_runner
from pipeline.report.latency import Latency
from zoo.input_specs import IMAGES
from zoo.target import ENGINE_BACKENDS

Arrays = Mapping[str, NDArray[Any]]
ROUNDS = 30
SECONDS = 1.0  # of both sides together, after which no further round begins
LEAST = 3
PAUSE = 0.06  # seconds; ONNX Runtime's threads spin for 50 ms after a run, and would take a core from PyTorch


def latency(job: Job, model: nn.Module, folder: Path, arrays: Arrays) -> list[Latency]:
    """Tensors in, tensors out, in turns, after a call that is not timed; nothing where the backend cannot run here.

    ``arrays``: the inputs of the deployment in ``folder``, by name.
    """
    opened = open_deployment(folder)
    with opened.deployment as deployment:
        return [] if opened.note is not None else _in_turns(job, model, deployment.runner, arrays)


def _in_turns(job: Job, model: nn.Module, runner: Runner, arrays: Arrays) -> list[Latency]:
    target = job.target
    eager = eager_runner(
        model, job.task, target.level, job.forward, image_sizes=target.image_sizes, layout=target.layout
    )
    device = engine_device(target) if target.backend in ENGINE_BACKENDS else target.device
    runs: dict[str, Callable[[], Any]] = {
        "PyTorch, cpu": lambda: eager.run(arrays),
        f"{target.backend}, {device}": lambda: runner.run_float32(arrays),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    begin = time.perf_counter()
    for done in range(ROUNDS):
        if done >= LEAST and time.perf_counter() - begin > SECONDS:
            break
        for name, run in runs.items():
            time.sleep(PAUSE)
            seconds[name].append(_timed(run))
    batch = arrays[IMAGES.name].shape[0]
    return [_row(name, batch, found) for name, found in seconds.items()]


def _timed(run: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _row(name: str, batch: int, seconds: list[float]) -> Latency:
    p50, p90, p99 = (float(value) for value in 1e3 * np.percentile(seconds, (50, 90, 99)))
    return Latency(name, batch, p50, p90, p99, len(seconds))
