"""How many CPUs a process may use: its own, and no more than its container has time of."""

import os
from pathlib import Path

import pytest

from backends import threads

V2, V1 = "cpu.max", "cpu/cpu.cfs_{}_us"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8),
        ({V2: "max 100000\n"}, 8),
        ({V2: "200000 100000\n"}, 2),
        ({V2: "250000 100000\n"}, 3),
        ({V2: "50000 100000\n"}, 1),
        ({V2: "6400000 100000\n"}, 8),
        ({V2: "\n"}, 8),
        ({V1.format("quota"): "-1\n", V1.format("period"): "100000\n"}, 8),
        ({V1.format("quota"): "150000\n", V1.format("period"): "100000\n"}, 2),
    ],
)
def test_a_containers_limit_counts(
    files: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(threads, "CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert threads.default_threads() == expected
