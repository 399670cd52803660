"""A whole benchmark: subjects in settings, opened, started cold, and called in turns."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from backends.benchmark.bursts import Clock, Opened, interleave
from backends.benchmark.case import Case, Setting, Subject
from backends.benchmark.cold_start import ColdStart, cold_start
from backends.benchmark.rows import Row, Stability, rows_of, stability_of
from backends.calls import Array
from zoo.input_kinds import InputKind
from zoo.processor import Processor, processor
from zoo.progress import Progress


@dataclass(frozen=True)
class Benchmark:
    """``rounds``: of bursts. ``cold_rounds``: processes of each case. ``kind``: of what the models take.

    ``images``: the first two axes of each input, of an image (height, width).
    """

    rows: Sequence[Row]
    stability: Stability
    rounds: int
    cold_rounds: int
    kind: InputKind
    images: Sequence[Sequence[int]]
    processor: Processor

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "processor": self.processor.to_dict(),
            "rounds": self.rounds,
            "cold_rounds": self.cold_rounds,
            "images": [list(size) for size in self.images],
            "stability": self.stability.to_dict(),
            "rows": [row.to_dict() for row in self.rows],
        }


def run_benchmark(
    subjects: Sequence[Subject],
    settings: Sequence[Setting],
    images: Sequence[Array],
    *,
    rounds: int,
    cold_rounds: int = 0,
    progress: Progress = lambda *_: None,
    clock: Clock = time.perf_counter,
) -> Benchmark:
    """Every subject in every setting. Raises what a load and a call raise, and closes all models."""
    cases = [Case(subject, setting) for subject in subjects for setting in settings]
    with ExitStack() as opened:
        models = [Opened(opened.enter_context(case.subject.open(case.setting)), case.setting) for case in cases]
        kind = models[0].model.task.kind
        bursts = interleave(models, images, rounds, progress, clock)
    colds = _cold_starts(cases, images, cold_rounds, progress)
    stability = stability_of(bursts)
    rows = rows_of(cases, bursts, colds, stability)
    sizes = [image.shape[:2] for image in images]
    return Benchmark(rows, stability, rounds, cold_rounds, kind, sizes, processor())


def _cold_starts(
    cases: Sequence[Case], images: Sequence[Array], rounds: int, progress: Progress
) -> list[list[ColdStart]]:
    """In turns as well."""
    colds: list[list[ColdStart]] = [[] for _ in cases]
    for number in range(rounds):
        for place, case in enumerate(cases):
            progress("cold starts", number * len(cases) + place, rounds * len(cases))
            batch = [images[index % len(images)] for index in range(case.setting.batch)]
            colds[place].append(cold_start(case, batch))
    return colds
