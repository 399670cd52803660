"""Latencies as figures, by the project's own interleaved rounds."""

import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from measured import interleaved, ratio

from gpu.stage import Figure

Run = Callable[[], Any]


def latencies(runs: Mapping[str, Run], rounds: int) -> dict[str, Figure]:
    """Milliseconds of each run, and the first as a part of each other: medians of interleaved rounds."""
    seconds = interleaved(runs, rounds)
    first = next(iter(runs))
    figures: dict[str, Figure] = {f"{name} ms": 1e3 * statistics.median(values) for name, values in seconds.items()}
    return figures | {f"{first} of {name}": ratio(seconds, first, name) for name in runs if name != first}


def per_second(runs: Sequence[Run], calls: int, finished: Run = lambda: None) -> float:
    """Calls per second where each run is called `calls` times in a thread of its own; `finished`: waits for a device.

    Raises what a run raises.
    """
    faults: list[BaseException] = []

    def repeat(run: Run) -> None:
        try:
            for _ in range(calls):
                run()
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            faults.append(error)

    threads = [threading.Thread(target=repeat, args=(run,)) for run in runs]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    finished()
    if faults:
        raise faults[0]
    return calls * len(runs) / (time.perf_counter() - begin)
