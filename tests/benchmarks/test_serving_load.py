"""benchmarks/serving_load.py: a rehearsal with a server of the tests, and the gates."""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from backends import load
from backends.serving.protocol import DEPLOYMENT
from tests.backends.serving.conftest import OUTPUTS, deployments, files, repository, served
from tests.backends.serving.small_server import FULL, serving

__all__ = ["deployments", "files", "repository", "served"]  # fixtures
pytestmark = pytest.mark.usefixtures("benchmarks")


@pytest.mark.parametrize("served", ["detector"], indirect=True)
def test_every_answer_is_counted_and_compared(served: Any, deployments: dict[str, Path], files: list[Path]) -> None:
    pytest.importorskip("tritonclient", reason="needs the extra serve (tritonclient), which writes requests")
    import serving_clients

    name, model = served
    with load(deployments[name], threads=1) as local:
        expected = local(local.task.kind.read(files[-1]))
        other = local(local.task.kind.read(files[0]))
    with serving(name, model, [*OUTPUTS[name], DEPLOYMENT]) as server:
        wrong = serving_clients.Served(server.address, str(files[-1]), os.getpid(), other)
        with pytest.raises(AssertionError), wrong:
            pass
        with serving_clients.Served(server.address, str(files[-1]), os.getpid(), expected) as target:
            closed = serving_clients.closed_loop(target, clients=2, seconds=0.1)
            assert closed.good == closed.requests >= 2
            server.pages = [FULL] * 2
            opened = serving_clients.open_loop(target, rate=40, seconds=0.25)
            assert (opened.requests, opened.refused, opened.lost, opened.faults) == (10, 2, 0, Counter())
            target.right = b""
            assert serving_clients.closed_loop(target, clients=1, seconds=0).good == 1  # its arrays are compared
            target.expected = other
            others = serving_clients.closed_loop(target, clients=1, seconds=0).faults
            assert others == {"another answer: boxes, scores, labels": 1}


def test_each_gate_can_be_missed() -> None:
    from serving_clients import Sum
    from serving_load import Row, clients_table, missed_by_clients, missed_by_overload, overload_table, part

    good = Sum(spans=[(0.0, 0.010), (0.001, 0.021)], requests=3, refused=1, seconds=1, cpu=0.01, memory=[100] * 8)
    assert missed_by_clients({4: Row(good, plain=0.01, ratio=1.0, share=1.0)}) == []
    assert missed_by_overload(good, capacity=1.5, bound=1) == []
    assert "| 4 | 2.0 |" in clients_table({4: Row(good, plain=0.01, ratio=1.0, share=1.0)})
    assert "| refused with 503 | 1 |" in overload_table(good, 2, 1)
    assert "1.25 of the plain call's CPU" in missed_by_clients({4: Row(good, plain=0.008, ratio=1.25, share=1.0)})[0]
    assert "p99 waited for 1 other" in missed_by_overload(good, capacity=1.5, bound=0)[0]
    assert "the clients sent 3.0 requests/s" in missed_by_overload(good, capacity=2, bound=1)[0]
    lost = Sum(spans=[(0.0, 0.001)], requests=3, seconds=1, memory=[100] * 6 + [110] * 2, faults=Counter({"500": 1}))
    assert len(missed_by_overload(lost, capacity=1.5, bound=1)) == 3
    assert len(missed_by_clients({1: Row(lost, plain=1.0, ratio=0.0, share=1.0)})) == 1
    none = Sum(requests=2, refused=2, seconds=1, memory=[100])
    assert "no answer is right" in missed_by_overload(none, capacity=1, bound=1)[0]
    assert "answered | 0" in overload_table(none, 1, 1)
    assert part((1, 4, 16, 64), 60) == ""
    assert "This is a part of the measurement" in part((1, 4), 60) == part((1, 4, 16, 64), 10)


def test_a_process_that_nobody_has_waited_for_costs_no_figure() -> None:
    """A zombie has no words."""
    from process_tree import cpu_ticks

    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()  # until it has ended
        state = Path(f"/proc/{process.pid}/stat")
        while state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        assert isinstance(cpu_ticks(os.getpid()), Counter)
