"""How long calls take: who runs when, and what the figures are. The clock is a counter."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from backends import timing
from backends.timing import time_deployments


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "PAUSE", 0)


def test_figures_are_those_of_the_calls(detector: Path, segmentor: Path, images: list[np.ndarray]) -> None:
    rounds: list[tuple[int, int]] = []
    durations = itertools.chain([7, 9], [1, 3, 4, 2, 1, 3, 4, 2])  # first loads; then A B, B A, A B, B A
    marks = itertools.chain.from_iterable((0, duration) for duration in durations)
    one, other = time_deployments(
        [str(detector), str(segmentor)],
        images[:2],
        rounds=4,
        clock=lambda: next(marks),
        progress=lambda _, done, total: rounds.append((done, total)),
    )
    assert rounds == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert (one.first, other.first) == (7000, 9000)
    assert (one.p50, one.images_per_second) == (1500, pytest.approx(2000 / 1500))  # 1, 2, 1, 2 seconds
    assert other.p50 == 3500  # 3, 4, 3, 4
    assert (one.ratio, one.is_clear) == (1, False)
    assert (other.ratio, other.low, other.high, other.is_clear) == (2.5, 2, 3, True)


def test_a_difference_that_goes_both_ways_is_not_clear(detector: Path, segmentor: Path) -> None:
    durations = itertools.chain([1, 1], [2, 1, 2, 1] * 2)  # the second is twice as fast, or half as fast
    marks = itertools.chain.from_iterable((0, duration) for duration in durations)
    image = np.full((64, 96, 3), 200, np.uint8)
    _, other = time_deployments([str(detector), str(segmentor)], [image], rounds=4, clock=lambda: next(marks))
    assert (other.low, other.high) == (0.5, 2)
    assert not other.is_clear


def test_every_deployment_is_closed_where_one_cannot_be_loaded(detector: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    load = timing.load

    def watched(folder: str, **options: object) -> object:
        opened.append(load(folder, **options))  # type: ignore[arg-type]
        return opened[-1]

    monkeypatch.setattr(timing, "load", watched)
    with pytest.raises(Exception, match="nowhere"):
        time_deployments([str(detector), "nowhere"], [np.full((64, 96, 3), 200, np.uint8)])
    with pytest.raises(Exception, match="closed"):
        opened[0](np.full((64, 96, 3), 200, np.uint8))
