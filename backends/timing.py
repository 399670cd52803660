"""How long whole calls of deployments take: image in, result out, one deployment after another in each round."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from backends.calls import Array
from backends.loading import load
from backends.model import Model
from zoo.progress import Progress

PAUSE = 0.1  # seconds before a call; ONNX Runtime's threads spin for 50 ms, and would take a core from the next one
LONG = 0.5  # seconds; what a call's threads and caches need to come back is nothing beside it
Clock = Callable[[], float]


@dataclass(frozen=True)
class Timing:
    """Of one deployment: milliseconds of a call with ``batch`` images on ``threads`` threads (None: its own number).

    ``first``: from loading to the first result. ``p50``, ``p90``, ``p99``: percentiles of the calls. ``ratio``: the
    median of the rounds' ratios to the first deployment's time, and ``low`` and ``high`` the quartiles of these.
    """

    deployment: str
    threads: int | None
    batch: int
    first: float
    p50: float
    p90: float
    p99: float
    images_per_second: float
    ratio: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether most rounds agree on which of the two is faster."""
        return self.low > 1 or self.high < 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "is_clear": self.is_clear}


def time_deployments(
    folders: Sequence[str],
    images: Sequence[Array],
    *,
    threads: int | None = None,
    provider: str | None = None,
    rounds: int = 30,
    progress: Progress = lambda _what, _done, _all: None,
    clock: Clock = time.perf_counter,
) -> list[Timing]:
    """One row for each folder, in their order; every call has all ``images``.

    Raises what `load` and a call raise.
    """
    models: dict[str, Model] = {}
    first: dict[str, float] = {}
    try:
        for folder in folders:
            begin = clock()
            models[folder] = load(folder, threads=threads, provider=provider)
            models[folder](images)
            first[folder] = clock() - begin
        runs = {folder: partial(model, images) for folder, model in models.items()}
        seconds = interleaved(runs, rounds, progress, clock)
    finally:
        for model in models.values():
            model.close()
    return [_timing(folder, threads, len(images), first[folder], seconds, folders[0]) for folder in folders]


def interleaved(
    runs: Mapping[str, Callable[[], object]],
    rounds: int,
    progress: Progress = lambda _what, _done, _all: None,
    clock: Clock = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each run, one after another in each round, so that what else the machine does meets all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in list(runs) if number % 2 == 0 else reversed(list(runs)):
            time.sleep(PAUSE)
            if not seconds[name] or seconds[name][-1] < LONG:
                runs[name]()  # untimed: brings its own threads and caches back
            begin = clock()
            runs[name]()
            seconds[name].append(clock() - begin)
        progress("rounds", number + 1, rounds)
    return seconds


def _timing(
    folder: str, threads: int | None, batch: int, first: float, seconds: Mapping[str, list[float]], base: str
) -> Timing:
    p50, p90, p99 = (float(value) for value in 1e3 * np.percentile(seconds[folder], (50, 90, 99)))
    ratios = np.divide(seconds[folder], seconds[base])
    low, ratio, high = (float(value) for value in np.percentile(ratios, (25, 50, 75)))
    return Timing(folder, threads, batch, 1e3 * first, p50, p90, p99, 1e3 * batch / p50, ratio, low, high)
