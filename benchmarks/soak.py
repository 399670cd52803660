"""A long run of deployments: every result compared, memory, open handles, and latency over time.

    python benchmarks/soak.py DEPLOYMENT DEPLOYMENT DEPLOYMENT --image F... --page docs/measured/soak.md
    python benchmarks/soak.py DEPLOYMENT --image F... --calls 25000      200 000 calls
    python benchmarks/soak.py DEPLOYMENT --image F... --minutes 60       an hour, however many calls
    python benchmarks/soak.py DEPLOYMENT --image F... --minutes 10       a part: its page says so

Each deployment gets --threads callers, which make --calls calls each, or call until --minutes have passed. A caller
compares each result with the one that a single caller got before, to the bit. Exit code 3 if a result differs, a call
does not end, or memory or handles grow: memory by more than 1 % from the second quarter of the samples to the last one,
which is more than an arena needs to fill up. An hour, or 200 000 calls, is a long run.
"""

import argparse
import os
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
from process_tree import handles, resident_bytes

from backends import Deployment, load
from zoo.tasks import Result

MOST_GROWTH = 1.01
LONG_CALLS, LONG_SECONDS = 200_000, 3600
CALLS = 5000
SAMPLES = 60  # of a run: rows of its table are every fifth
ROW = 5
PATIENCE = 60  # seconds past the last minute, after which a call hangs


@dataclass(frozen=True)
class Sample:
    """At one moment. ``latencies``: ms of the calls since the last one, p50 and p99; NaN without calls."""

    seconds: float
    calls: int
    memory: int
    handles: int
    latencies: tuple[float, float]


@dataclass
class Soak:
    """The callers of one deployment, and what they saw."""

    model: Deployment
    images: Sequence[np.ndarray]
    expected: Sequence[Result]
    calls: int | None
    deadline: float
    wrong: list[str] = field(default_factory=list)
    done: int = 0
    _recent: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, first: int) -> None:
        """The calls of one caller, which begins with the image `first`, until the deadline."""
        for number in count(first) if self.calls is None else range(first, first + self.calls):
            if time.monotonic() > self.deadline:
                return
            place = number % len(self.images)
            begin = time.perf_counter()
            try:
                result = self.model(self.images[place])
            except Exception as error:  # noqa: BLE001 - whatever a call raises is what this looks for
                self._note(f"image {place}: {error}")
                continue
            seconds = time.perf_counter() - begin
            self._note(None if result == self.expected[place] else f"image {place}: another result", seconds)

    def _note(self, fault: str | None, seconds: float | None = None) -> None:
        with self._lock:
            self.done += 1
            if seconds is not None:
                self._recent.append(1000 * seconds)
            if fault is not None:
                self.wrong.append(fault)

    def sample(self, begin: float) -> Sample:
        """Now; `begin`: when the callers began."""
        with self._lock:
            recent, self._recent = self._recent or [float("nan")], []
        p50, p99 = np.percentile(recent, (50, 99))
        pid = os.getpid()
        seconds = time.monotonic() - begin
        return Sample(seconds, self.done, resident_bytes(pid), handles(pid), (float(p50), float(p99)))


def soak(model: Deployment, images: Sequence[np.ndarray], threads: int, calls: int | None, minutes: float) -> "Report":
    """Run the callers, and sample them until they are done. `calls`: of each; None: until the minutes are over."""
    expected = [model(image) for image in images]
    begin = time.monotonic()
    run = Soak(model, images, expected, calls, begin + 60 * minutes)
    callers = [threading.Thread(target=run.call, args=(number,), daemon=True) for number in range(threads)]
    for caller in callers:
        caller.start()
    samples: list[Sample] = []
    share = float("inf") if calls is None else max(1, threads * calls // SAMPLES)
    while any(caller.is_alive() for caller in callers):
        time.sleep(0.05)
        elapsed = time.monotonic() - begin
        if elapsed > 60 * minutes + PATIENCE:
            run.wrong.append(f"calls that hang: {sum(caller.is_alive() for caller in callers)}")
            break
        if run.done >= share * (len(samples) + 1) or elapsed >= 60 * minutes * (len(samples) + 1) / SAMPLES:
            samples.append(run.sample(begin))
    last = run.sample(begin)
    return Report(model.name, samples if samples and samples[-1].calls == last.calls else [*samples, last], run.wrong)


@dataclass(frozen=True)
class Report:
    """Of one deployment."""

    name: str
    samples: list[Sample]
    wrong: list[str]

    @property
    def growth(self) -> float:
        """Median memory of the last quarter of the samples, over that of the second."""
        quarter = max(1, len(self.samples) // 4)
        early = [sample.memory for sample in self.samples[quarter : 2 * quarter] or self.samples]
        late = [sample.memory for sample in self.samples[-quarter:]]
        return statistics.median(late) / statistics.median(early)

    @property
    def slope(self) -> float:
        """KiB of memory for each 1000 calls, fitted to the second half of the samples."""
        half = self.samples[len(self.samples) // 2 :]
        calls = np.array([sample.calls for sample in half], float)
        if np.ptp(calls) == 0:
            return 0.0
        return float(np.polyfit(calls, [sample.memory for sample in half], 1)[0]) * 1000 / 2**10

    @property
    def is_good(self) -> bool:
        """Whether all gates are met."""
        middle = self.samples[len(self.samples) // 2]
        return not self.wrong and self.growth <= MOST_GROWTH and self.samples[-1].handles <= middle.handles

    @property
    def is_long(self) -> bool:
        """Whether an hour passed, or 200 000 calls were made."""
        return self.samples[-1].calls >= LONG_CALLS or self.samples[-1].seconds >= LONG_SECONDS

    def table(self) -> str:
        """Markdown: the verdict, and every fifth sample."""
        last = self.samples[-1]
        length = "" if self.is_long else " This is a part of a long run, which is an hour or 200 000 calls."
        verdict = (
            f"{last.calls} calls in {last.seconds:.0f} s, {len(self.wrong)} wrong. Memory of the last quarter over "
            f"that of the second: {self.growth:.4f}; {self.slope:.1f} KiB for each 1000 calls in the second "
            f"half.{length}"
        )
        lines = [
            f"## {self.name}",
            "",
            verdict,
            "",
            "| seconds | calls | memory MiB | handles | p50 ms | p99 ms |",
            "|---" * 6 + "|",
        ]
        shown = [*self.samples[::ROW], *([] if len(self.samples) % ROW == 1 else [last])]
        lines += [
            f"| {sample.seconds:.0f} | {sample.calls} | {sample.memory / 2**20:.1f} | {sample.handles} | "
            f"{sample.latencies[0]:.1f} | {sample.latencies[1]:.1f} |"
            for sample in shown
        ]
        return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 3 where a gate is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("deployments", nargs="+", metavar="DEPLOYMENT")
    parser.add_argument("--image", nargs="+", required=True, metavar="F")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--calls", type=int, help="of each thread (default: 5000; with --minutes: no limit)")
    parser.add_argument("--minutes", type=float, help="of each deployment, at most (default: 600)")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    calls = CALLS if options.calls is None and options.minutes is None else options.calls
    minutes = 600.0 if options.minutes is None else options.minutes
    reports = []
    for folder in options.deployments:
        with load(folder, threads=1) as model:
            images = [model.task.kind.read(path) for path in options.image]
            reports.append(soak(model, images, options.threads, calls, minutes))
        print(reports[-1].table(), flush=True)
        print("\n".join(reports[-1].wrong[:5]), file=sys.stderr)
    if options.page is not None:
        from measured import machine, write_page  # imports torch, whose memory would hide what a model's grows by

        intro = (
            f"{options.threads} threads call one model of one thread, "
            f"{f'for {minutes:g} minutes' if calls is None else f'{calls} calls each at most'}, with "
            f"{len(options.image)} images. Each result is compared to the bit.\n\n{machine('onnxruntime', 'numpy')}"
        )
        tables = "\n\n".join(report.table() for report in reports)
        write_page(options.page, "A long run", intro, "benchmarks/soak.py", tables)
    return 0 if all(report.is_good for report in reports) else 3


if __name__ == "__main__":
    sys.exit(main())
