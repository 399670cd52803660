"""A benchmark: who runs when, what the figures are, and when nothing can be said. The clock is a script, or real."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from backends.benchmark import bursts, case
from backends.benchmark.case import Case, DeploymentSubject, Setting
from backends.benchmark.cold_start import cold_start
from backends.benchmark.rows import FASTER, SLOWER, STEADY, TOO_FEW, TOO_NOISY, UNCLEAR
from backends.benchmark.run import Benchmark, run_benchmark
from backends.benchmark.words import call_rows, cold_rows, stability_words, stage_rows
from zoo.errors import InputError

IMAGE = np.full((64, 96, 3), 200, np.uint8)
PLAIN = Setting()
ROUNDS = 8


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bursts, "PAUSE", 0)
    monkeypatch.setattr(bursts, "LONG", 0)  # an untimed burst before the first one alone


def scripted(calls: Iterable[float], shares: tuple[float, float, float] = (0.25, 0.625, 0.125)) -> Callable[[], float]:
    """A clock for bursts of one call that take so many seconds, divided into stages like this."""

    def marks() -> Iterator[float]:
        for seconds in calls:
            stages = list(itertools.accumulate((seconds * share for share in shares), initial=0.0))
            yield from (0.0, *stages, seconds)

    ticking = marks()
    return lambda: next(ticking)


def turns(*seconds: Iterable[float]) -> Iterator[float]:
    """What each case takes in each round, the last one the control's, in the order in which they run."""
    for number, together in enumerate(zip(*seconds, strict=True)):
        yield from together if number % 2 == 0 else reversed(together)


def subjects(*folders: Path) -> list[DeploymentSubject]:
    return [DeploymentSubject(str(folder), str(folder)) for folder in folders]


def measured(detector: Path, segmentor: Path, *seconds: Iterable[float], rounds: int = ROUNDS) -> Benchmark:
    clock = scripted(turns(*seconds))
    return run_benchmark(subjects(detector, segmentor), [PLAIN], [IMAGE], rounds=rounds, clock=clock)


def test_figures_are_those_of_the_calls(detector: Path, segmentor: Path) -> None:
    first, other = measured(detector, segmentor, [1, 2] * 4, [2.5, 5] * 4, [1, 2] * 4).rows
    assert (first.p50, first.p90, first.p99) == (1500, 2000, 2000)
    assert first.images_per_second == (1 + 1 / 2) / 2
    assert first.shares == pytest.approx({"preprocessing": 0.25, "computing": 0.625, "postprocessing": 0.125})
    assert (first.compared_with, first.ratio, first.verdict) == (None, None, "")
    assert (other.compared_with, other.ratio, other.verdict) == (1, (2.5, 2.5, 2.5), SLOWER)


@pytest.mark.parametrize(
    ("other", "control", "verdict"),
    [
        ([0.5] * 8, [1] * 8, FASTER),
        ([1.2] * 8, [1] * 8, SLOWER),
        ([1.04] * 8, [0.95, 1.05] * 4, UNCLEAR),  # less than the machine differs from itself
        ([0.5, 2] * 4, [1] * 8, UNCLEAR),
        ([3] * 8, [0.8, 1.3] * 4, TOO_NOISY),
        ([3] * 8, [1.2] * 8, TOO_NOISY),  # the second of two equal rows must not be slower, either
    ],
)
def test_the_verdict_follows_the_noise(
    detector: Path, segmentor: Path, other: list[float], control: list[float], verdict: str
) -> None:
    found = measured(detector, segmentor, [1] * 8, other, control)
    assert found.rows[1].verdict == verdict
    assert found.stability.verdict == (TOO_NOISY if verdict == TOO_NOISY else STEADY)
    assert verdict in call_rows(found.rows)[1][-1]
    assert ("idle machine" in stability_words(found.stability)) == (verdict == TOO_NOISY)


def test_few_rounds_tell_nothing(detector: Path, segmentor: Path) -> None:
    found = measured(detector, segmentor, [1] * 5, [9] * 5, [1] * 5, rounds=5)
    assert (found.rows[1].ratio, found.rows[1].verdict, found.stability.verdict) == (None, TOO_FEW, TOO_FEW)
    assert "--rounds 6" in stability_words(found.stability)


def test_rows_are_compared_with_the_first_subject_in_their_setting(detector: Path, segmentor: Path) -> None:
    settings = [Setting(1, 1), Setting(1, 2), Setting(None, 1, 2)]
    found = run_benchmark(subjects(detector, segmentor), settings, [IMAGE], rounds=2)
    assert [(row.threads, row.batch, row.workers) for row in found.rows] == 2 * [
        (1, 1, None),
        (1, 2, None),
        (None, 1, 2),
    ]
    assert [row.compared_with for row in found.rows] == [None, 1, 1, 1, 2, 3]


def test_progress_and_turns(detector: Path, segmentor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int, int]] = []
    order: list[str] = []
    burst = bursts._burst
    monkeypatch.setattr(bursts, "_burst", lambda model, *rest: order.append(model.task.name) or burst(model, *rest))
    run_benchmark(
        subjects(detector, segmentor), [PLAIN], [IMAGE], rounds=2, progress=lambda *counted: seen.append(counted)
    )
    assert seen == [("rounds", done, 2) for done in range(3)]
    one, other = "detection", "semantic-segmentation"
    assert order[:6] == [one, one, other, other, one, one]  # each after an untimed burst; the control is the first case
    assert order[6:] == [one, other, one]  # backwards


def test_calls_go_through_the_images(detector: Path) -> None:
    images = [IMAGE + index for index in range(5)]
    firsts = [[call[0][0, 0, 0] - 200 for call in bursts._calls(images, PLAIN, number)] for number in range(6)]
    assert firsts == [[0], [1], [2], [3], [4], [0]]
    (call,) = bursts._calls(images, Setting(batch=3), 1)
    assert [image[0, 0, 0] - 200 for image in call] == [3, 4, 0]
    assert len(bursts._calls(images, Setting(workers=3), 0)) == 3 * bursts.CALLS


@pytest.mark.parametrize("setting", [PLAIN, Setting(1, 3), Setting(workers=2), Setting(1, 2, 2)])
def test_invariants_of_real_calls(detector: Path, slide: Path, images: list[np.ndarray], setting: Setting) -> None:
    found = run_benchmark(subjects(detector, slide), [setting], images, rounds=3)
    for row in found.rows:
        assert 0 < row.p50 <= row.p90 <= row.p99
        assert row.images_per_second > 0
        assert all(share > 0 for share in row.shares.values())
        assert sum(row.shares.values()) == pytest.approx(1)
    assert [len(table(found.rows)) for table in (call_rows, stage_rows, cold_rows)] == [2, 2, 0]
    assert found.to_dict()["images"] == [list(image.shape[:2]) for image in images]


def test_a_start_in_a_process_of_its_own(detector: Path, segmentor: Path) -> None:
    found = run_benchmark(
        subjects(detector), [Setting(1, 2, 2)], [IMAGE], rounds=1, cold_rounds=1, progress=lambda *_: None
    )
    cold = found.rows[0].cold
    assert cold is not None
    assert 0 < cold.load < cold.first
    assert cold.memory > 10 * 2**20  # Python and numpy alone take more
    assert len(cold_rows(found.rows)) == 1


def test_an_error_of_that_process_is_the_users(tmp_path: Path) -> None:
    (subject,) = subjects(tmp_path / "nowhere")
    with pytest.raises(InputError, match="nowhere"):
        cold_start(Case(subject, PLAIN), [IMAGE])


def test_a_level_without_results_is_refused(deploy: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match='output level "decoded" has no results'):
        run_benchmark(subjects(deploy(task="SemanticSegmentation", level="decoded")), [PLAIN], [IMAGE], rounds=1)


def test_every_model_is_closed_where_one_cannot_be_loaded(detector: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    load = case.load

    def watched(folder: str, **options: object) -> object:
        opened.append(load(folder, **options))
        return opened[-1]

    monkeypatch.setattr(case, "load", watched)
    with pytest.raises(InputError, match="nowhere"):
        run_benchmark(subjects(detector, Path("nowhere")), [PLAIN], [IMAGE], rounds=1)
    with pytest.raises(InputError, match="closed"):
        opened[0](IMAGE)
