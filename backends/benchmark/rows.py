"""What was measured of each case, as rows, and what can be said about their differences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from backends.benchmark.bursts import Burst
from backends.benchmark.case import Case
from backends.benchmark.cold_start import ColdStart
from backends.benchmark.interval import Interval, median_interval
from backends.calls import Stages

NOISY = 0.1  # as a part of the time: a machine on which a case differs so much from itself says nothing
FASTER, SLOWER, UNCLEAR = "faster", "slower", "no clear difference"
TOO_NOISY, TOO_FEW = "the machine was too noisy to tell", "too few rounds to tell"
STEADY = "steady"


@dataclass(frozen=True)
class Stability:
    """The control's ratio to the first case, which is 1 on a steady machine; None for fewer rounds than an interval
    takes.

    ``noise``: how far it may be from 1. Smaller differences between rows mean nothing.
    """

    interval: Interval | None

    @property
    def noise(self) -> float | None:
        """As a part of the time."""
        return None if self.interval is None else max(abs(self.interval.low - 1), abs(self.interval.high - 1))

    @property
    def verdict(self) -> str:
        """Whether differences can be seen."""
        if self.noise is None:
            return TOO_FEW
        return TOO_NOISY if self.noise > NOISY else STEADY

    def judge(self, ratio: Interval | None) -> str:
        """What a row's ratio says about it."""
        if ratio is None or self.noise is None or self.noise > NOISY:
            return TOO_FEW if ratio is None else self.verdict
        if ratio.low <= 1 <= ratio.high or abs(ratio.median - 1) <= self.noise:
            return UNCLEAR
        return FASTER if ratio.median < 1 else SLOWER

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        interval = None if self.interval is None else self.interval._asdict()
        return {"interval": interval, "noise": self.noise, "verdict": self.verdict}


@dataclass(frozen=True)
class Row:
    """One case. ``p50``, ``p90``, ``p99``: percentiles of its calls, in milliseconds, with other calls beside them if
    there are workers.

    ``shares``: of each stage in the time of the calls; they add up to 1. ``cold``: None if no process was started.
    ``ratio``: its time for an image, as a part of that of the row ``compared_with``, over the rounds; None for the
    first row, and for too few rounds. ``verdict``: see Stability.judge; "" for the first row.
    """

    number: int
    subject: str
    threads: int | None
    batch: int
    workers: int | None
    p50: float
    p90: float
    p99: float
    images_per_second: float
    shares: Mapping[str, float]
    cold: ColdStart | None
    compared_with: int | None
    ratio: Interval | None
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        cold = None if self.cold is None else self.cold._asdict()
        return {**asdict(self), "cold": cold, "ratio": None if self.ratio is None else self.ratio._asdict()}


def stability_of(bursts: Sequence[Sequence[Burst]]) -> Stability:
    """Of the first case and the control, as `interleave` gives them."""
    return Stability(median_interval(_ratios(bursts[-1], bursts[0])))


def rows_of(
    cases: Sequence[Case],
    bursts: Sequence[Sequence[Burst]],
    colds: Sequence[Sequence[ColdStart]],
    stability: Stability,
) -> list[Row]:
    """A row for each case. A subject is compared with the first one in the same setting, the first with its first."""
    first = cases[0].subject
    bases = {case.setting: place for place, case in enumerate(cases) if case.subject == first}
    rows = []
    for place, (case, own) in enumerate(zip(cases, bursts, strict=False)):
        base = 0 if case.subject == first else bases[case.setting]
        ratio = median_interval(_ratios(own, bursts[base])) if place else None
        calls = [call for burst in own for call in burst.calls]
        p50, p90, p99 = np.percentile([1e3 * sum(call) for call in calls], (50, 90, 99)).tolist()
        rows.append(
            Row(
                number=place + 1,
                subject=case.subject.name,
                threads=case.setting.threads,
                batch=case.setting.batch,
                workers=case.setting.workers,
                p50=p50,
                p90=p90,
                p99=p99,
                images_per_second=median(burst.images / burst.seconds for burst in own),
                shares=_shares(calls),
                cold=_middle(colds[place]),
                compared_with=base + 1 if place else None,
                ratio=ratio,
                verdict=stability.judge(ratio) if place else "",
            )
        )
    return rows


def _ratios(bursts: Sequence[Burst], base: Sequence[Burst]) -> list[float]:
    """Of the time for an image, round by round."""
    return [
        (own.seconds / own.images) / (other.seconds / other.images) for own, other in zip(bursts, base, strict=True)
    ]


def _shares(calls: Sequence[Stages]) -> dict[str, float]:
    sums = np.sum(calls, axis=0)
    return dict(zip(Stages._fields, (sums / sums.sum()).tolist(), strict=True))


def _middle(colds: Sequence[ColdStart]) -> ColdStart | None:
    """The median of each figure."""
    if not colds:
        return None
    first, load, memory = (median(figures) for figures in zip(*colds, strict=True))
    return ColdStart(first, load, int(memory))
