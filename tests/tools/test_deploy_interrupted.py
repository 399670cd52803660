"""Ctrl-C, SIGTERM, SIGKILL, full disks and faults of our own: the exit code, and nothing half done."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import backends
from backends import load
from pipeline import deploying
from pipeline.proof.fallback_runtime import open_deployment
from pipeline.publishing import publish
from pipeline.stages import exported, prepared, proved, records
from tests.examples import slow_but
from tests.tools.tiny import Run, Tiny
from zoo.errors import InputError

pytestmark = pytest.mark.usefixtures("no_plots")

Deploy = Callable[[Sequence[str]], Run]

SCRIPT = Path(__file__).parent / "deploy_tiny.py"
KILLS = 15
STEPS = {"run_reference": prepared, "export_step": exported, "graph_parity": proved, "write_report": records}


def fail_at(monkeypatch: pytest.MonkeyPatch, step: str, action: Callable[[], Any]) -> None:
    def fail(*arguments: Any, **options: Any) -> Any:
        action()
        pytest.fail("went on")

    monkeypatch.setattr(STEPS[step], step, fail)


@pytest.mark.parametrize(
    ("number", "step"),
    slow_but(
        [(number, step) for number in (signal.SIGINT, signal.SIGTERM) for step in STEPS],
        (signal.SIGINT, "run_reference"),
        *((signal.SIGTERM, step) for step in STEPS),
    ),
)
def test_a_signal_removes_what_is_half_done(
    deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch, step: str, number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    fail_at(monkeypatch, step, lambda: signal.raise_signal(number))
    run = deploy(tiny.with_images())
    assert (run.code, run.err) == (130, "interrupted; nothing was published\n")
    assert not tiny.work_dir.parent.exists()
    assert signal.getsignal(number) == before


def test_a_fault_of_ours_says_so_and_shows_the_traceback(
    deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "run_reference", None)
    run = deploy(tiny.with_images())
    assert run.code == 1
    assert "Traceback" in run.err
    assert (
        run.err.splitlines()[-1]
        == "error: this is a fault of zooport, not yours: TypeError: 'NoneType' object is not callable"
    )
    assert not tiny.work_dir.parent.exists()


@pytest.mark.parametrize("step", STEPS)
def test_a_disk_that_fills_up_is_no_fault_of_ours(
    deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "model.onnx")

    fail_at(monkeypatch, step, full)
    run = deploy(tiny.with_images())
    assert run.code == 2
    assert run.err == "error: [Errno 28] No space left on device: 'model.onnx'\n"
    assert not tiny.work_dir.parent.exists()


@pytest.mark.usefixtures("deployment")
def test_the_old_deployment_survives_an_interruption(
    deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(monkeypatch, "write_report", lambda: signal.raise_signal(signal.SIGTERM))
    assert deploy(tiny.with_images()).code == 130
    load(tiny.place).close()
    assert [path.name for path in tiny.place.parent.iterdir()] == ["onnxruntime-fp32"]


@pytest.mark.parametrize("step", ["sync", "open_deployment", "print_parity"])
def test_an_interruption_after_the_exchange_does_not_claim_that_nothing_was_published(
    deploy: Deploy, deploy_tool: ModuleType, tiny: Tiny, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    module = {"sync": publish, "open_deployment": deploying, "print_parity": deploy_tool}[step]
    original = getattr(module, step)

    def interrupted(*arguments: Any) -> Any:
        first = arguments[0]
        if step == "print_parity" or (tiny.place.exists() and first in (tiny.place, tiny.place.parent)):
            signal.raise_signal(signal.SIGTERM)
        return original(*arguments)

    monkeypatch.setattr(module, step, interrupted)
    run = deploy(tiny.with_images())
    assert (run.code, run.err) == (130, f"interrupted; {tiny.place} was published\n")
    assert [path.name for path in tiny.place.parent.iterdir()] == [tiny.place.name]
    with backends.load(tiny.place) as model:
        assert model.manifest.checkpoint is not None


def test_an_error_after_the_exchange_says_that_it_was_published(
    deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Path) -> Any:
        if folder == tiny.place:
            raise InputError("no")
        return open_deployment(folder)

    monkeypatch.setattr(deploying, "open_deployment", fail)
    run = deploy(tiny.with_images())
    assert (run.code, run.err) == (2, f"error: no; {tiny.place} was published\n")


def start(tiny: Tiny) -> "subprocess.Popen[str]":
    """A deploy in a process of its own, past its imports."""
    process = subprocess.Popen(
        [sys.executable, SCRIPT, *tiny.with_images()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_from_outside(tiny: Tiny, number: signal.Signals) -> None:
    with start(tiny) as process:
        assert process.stdout is not None
        assert "load PyTorch" in process.stdout.readline()
        assert "check the input" in process.stdout.readline()
        process.send_signal(number)
        _, err = process.communicate()
    assert process.returncode == 130
    assert err == "interrupted; nothing was published\n"
    assert not tiny.work_dir.exists()


@pytest.mark.slow
def test_killed_at_random_moments(deploy: Deploy, tiny: Tiny) -> None:
    with start(tiny) as process:
        begin = time.monotonic()
        process.communicate()
        whole = time.monotonic() - begin
    first = (tiny.place / "deployment.json").read_bytes()
    chance = random.Random(0)
    for _ in range(KILLS):
        with start(tiny) as process:
            time.sleep(chance.random() * whole)
            process.kill()
        with load(tiny.place) as model:  # checks the hashes
            assert model.manifest.parity == {"verdict": "passed"}
        assert (tiny.place / "deployment.json").read_bytes() == first
    assert deploy(tiny.with_images()).code == 0
    assert [path.name for path in tiny.place.parent.iterdir()] == ["onnxruntime-fp32"]
