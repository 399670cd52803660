"""benchmarks/soak.py: a rehearsal of a long run, and what it finds."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from tests.backends.conftest import Recipe, write_deployment
from zoo.errors import InputError

pytestmark = pytest.mark.usefixtures("benchmarks")


class Model:
    """Doubles an image; `fault`: what its call of that number does instead."""

    name = "double"

    def __init__(self, fault: Callable[[], int] | None = None) -> None:
        self.fault = fault
        self.calls = 0

    def __call__(self, image: int) -> int:
        self.calls += 1
        return self.fault() if self.fault is not None and self.calls == 9 else 2 * image


def refuse() -> int:
    raise InputError("closed")


@pytest.mark.parametrize(
    ("fault", "message"),
    [(None, None), (lambda: -1, "another result"), (refuse, "closed")],
    ids=["good", "wrong", "error"],
)
def test_one_wrong_answer_is_found(fault: Callable[[], int] | None, message: str | None) -> None:
    import soak

    report = soak.soak(Model(fault), [1, 2, 3], threads=2, calls=20, minutes=1)
    assert report.samples[-1].calls == 40
    assert len(report.wrong) == (message is not None)
    assert all(message in each for each in report.wrong)
    assert not (report.wrong and report.is_good)


def test_a_call_that_hangs_ends_the_run_and_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    import soak

    monkeypatch.setattr(soak, "PATIENCE", 0.1)
    end = threading.Event()
    report = soak.soak(Model(end.wait), [1, 2, 3], threads=2, calls=20, minutes=0.2 / 60)
    end.set()
    assert report.wrong == ["calls that hang: 1"]
    assert not report.is_good


def test_minutes_alone_have_no_limit_of_calls() -> None:
    import soak

    report = soak.soak(Model(), [1, 2, 3], threads=2, calls=None, minutes=0.2 / 60)
    assert report.wrong == []
    assert report.samples[-1].seconds >= 0.2
    assert report.samples[-1].calls > 2


@pytest.mark.parametrize(("seconds", "calls", "long"), [(0.2, 199_999, False), (3600, 9, True), (0.2, 200_000, True)])
def test_an_hour_or_200000_calls_are_a_long_run(seconds: float, calls: int, long: bool) -> None:
    import soak

    report = soak.Report("cars", [soak.Sample(seconds, calls, 1, 1, (1.0, 1.0))], [])
    assert ("This is a part of a long run" in report.table()) != long


def test_a_model_that_refuses_each_call_ends_at_the_deadline() -> None:
    import soak

    def refused(_: int) -> int:
        raise InputError("closed")

    run = soak.Soak(refused, [1], [2], None, time.monotonic() + 0.1)
    run.call(0)
    assert run.done == len(run.wrong) > 0


def test_memory_and_handles_that_grow_are_found() -> None:
    import soak

    def report(memory: Callable[[int], int], handles: Callable[[int], int]) -> SimpleNamespace:
        samples = [soak.Sample(n, 1000 * n, memory(n), handles(n), (1.0, 2.0)) for n in range(40)]
        return soak.Report("cars", samples, [])

    fills_up = report(lambda n: 10**8 + min(n, 8) * 10**6, lambda _: 9)
    assert fills_up.is_good
    assert fills_up.slope == pytest.approx(0, abs=1e-6)
    leaks = report(lambda n: 10**8 + n * 102400, lambda _: 9)
    assert not leaks.is_good
    assert leaks.slope == pytest.approx(100)
    assert not report(lambda _: 10**8, lambda n: n).is_good


@pytest.mark.slow
def test_a_rehearsal_writes_its_page(tmp_path: Path) -> None:
    import soak

    folder = write_deployment(tmp_path / "deployment", Recipe())
    images = [tmp_path / f"{number}.png" for number in range(3)]
    for number, path in enumerate(images):
        cv2.imwrite(str(path), np.full((64, 96, 3), 60 * number, np.uint8))
    page = tmp_path / "soak.md"
    flags = ["--threads", "8", "--calls", "250", "--page", str(page), "--image", *map(str, images)]
    code = soak.main([str(folder), str(folder), *flags])
    text = page.read_text(encoding="utf-8")
    assert code in (0, 3)  # memory of so short a run says nothing
    assert text.count("2000 calls in") == 2
    assert text.count(", 0 wrong.") == 2
