"""Calls that are timed: cases in turns, so that what else the machine does meets all of them alike."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from backends.benchmark.case import Setting
from backends.calls import Array, Stages
from backends.model import Model
from zoo.progress import Progress

PAUSE = 0.1  # seconds before a burst; ONNX Runtime's threads spin for 50 ms, and would take a core from the next one
LONG = 0.5  # seconds; what a burst's threads and caches need to come back is nothing beside it
CALLS = 4  # of each worker in a burst
Clock = Callable[[], float]


class Burst(NamedTuple):
    """Calls without a pause: one, or CALLS for each worker, all of them submitted.

    `seconds`: of the whole burst. `images`: of all calls. `calls`: each call by itself.
    """

    seconds: float
    images: int
    calls: tuple[Stages, ...]


class Opened(NamedTuple):
    """A case whose model is loaded."""

    model: Model
    setting: Setting


def interleave(
    cases: Sequence[Opened],
    images: Sequence[Array],
    rounds: int,
    progress: Progress = lambda *_: None,
    clock: Clock = time.perf_counter,
) -> list[list[Burst]]:
    """A burst of each case for each round; every other round runs backwards. Calls go through the images in order.

    The last list is the control: the first case, measured a second time in each round as if it were another one.
    """
    turns = [*cases, cases[0]]
    bursts: list[list[Burst]] = [[] for _ in turns]
    progress("rounds", 0, rounds)
    for number in range(rounds):
        order = range(len(turns))
        for place in order if number % 2 == 0 else reversed(order):
            model, setting = turns[place]
            calls = _calls(images, setting, number)
            time.sleep(PAUSE)
            if not bursts[place] or bursts[place][-1].seconds < LONG:
                _burst(model, calls[: setting.workers or 1], time.perf_counter)  # brings its threads and caches back
            bursts[place].append(_burst(model, calls, clock))
        progress("rounds", number + 1, rounds)
    return bursts


def _calls(images: Sequence[Array], setting: Setting, number: int) -> list[list[Array]]:
    """The images of each call of a burst, in its round."""
    count = 1 if setting.workers is None else CALLS * setting.workers
    first = number * count * setting.batch
    return [
        [images[(first + call * setting.batch + place) % len(images)] for place in range(setting.batch)]
        for call in range(count)
    ]


def _burst(model: Model, calls: Sequence[Sequence[Array]], clock: Clock) -> Burst:
    begin = clock()
    if model.pool is None:
        stages = [model.time_stages(images, clock) for images in calls]
    else:
        futures = [model.pool.submit(model.time_stages, images, clock) for images in calls]
        stages = [future.result() for future in futures]
    return Burst(clock() - begin, sum(map(len, calls)), tuple(stages))
