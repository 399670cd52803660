"""The GPU kit without its stages: cells that fail, crash, hang or run out of time, what is kept, and the page."""

import json
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from pipeline.regression.child import GRACE, run_child
from zoo.errors import InputError

pytestmark = pytest.mark.usefixtures("benchmarks")
ANSWER = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('{}')"
FOUND = '{"figures": {"ms": 3}, "faults": {}, "lack": null}'
SCRIPTS = {
    "good": ANSWER.format(FOUND),
    "failed": "raise SystemExit('it failed')",
    "crashed": f"{ANSWER.format(FOUND)}; import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "hangs": f"{ANSWER.format(FOUND)}; import time; time.sleep(3600)",
}


def measure(place: Any, findings: Any) -> None:
    raise NotImplementedError


def process(cell: Any, answer: Path, seconds: float, log: Path, deadline: float, stop: Event) -> int | None:
    command = [sys.executable, "-c", SCRIPTS[cell.kind], str(answer)]
    return run_child(command, log, deadline=deadline, stop=stop)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """run(names, alone, seconds) -> the record of a stage of these cells."""
    from gpu.scheduling import run_stage
    from gpu.stage import Cell, Place, Stage

    def make(
        names: list[str],
        *,
        seconds: float = 60,
        cell_seconds: float = 60,
        alone: bool = True,
        for_alone: float = 0,
        process: Callable[..., int | None] = process,
    ) -> dict[str, Any]:
        """The last cell is alone where there is time for such cells."""
        last = len(names) - 1
        cells = [
            Cell(name, str(number), measure, alone=alone or (for_alone > 0 and number == last))
            for number, name in enumerate(names)
        ]
        stage = Stage(1, "small", "?", lambda place: cells, lambda place: None, cell_seconds, for_alone)
        records: list[str] = []
        record = run_stage(
            stage,
            Place("cpu", tmp_path / "scratch", tmp_path / "out", seconds),
            process,
            lambda record: records.append(json.dumps(record)),
            workers=2,
        )
        assert json.loads(records[-1]) == record
        assert len(records) == len(names) + 1, "kept after each cell"
        return record

    return make


@pytest.mark.parametrize("alone", [True, False])
def test_a_cell_that_fails_costs_the_others_nothing(alone: bool, run: Callable[..., dict[str, Any]]) -> None:
    record = run(["failed", "crashed", "good"], alone=alone)
    found = {cell["kind"]: cell for cell in record["cells"].values()}
    assert found["good"]["ended"] is None
    assert found["good"]["figures"] == found["crashed"]["figures"] == {"ms": 3}
    assert found["failed"]["ended"] == "ended with exit status 1: it failed"
    assert found["failed"]["figures"] == {}
    assert found["crashed"]["ended"].startswith("ended by signal 11: Fatal Python error: Segmentation fault")
    assert record["left_out"] == []


@pytest.mark.slow
def test_a_cell_that_hangs_is_ended_and_what_it_had_found_is_kept(run: Callable[..., dict[str, Any]]) -> None:
    record = run(["hangs", "good"], cell_seconds=15)
    hung, good = record["cells"].values()
    assert hung["ended"] == "ended after its 15 s; what it had found by then is kept"
    assert hung["figures"] == {"ms": 3}
    assert good["ended"] is None


@pytest.mark.slow
def test_a_stage_ends_in_time_and_names_what_was_left_out(run: Callable[..., dict[str, Any]]) -> None:
    record = run(["hangs", "good", "good"], seconds=25)
    assert list(record["cells"]) == ["hangs | 0"]
    assert record["left_out"] == ["good | 1", "good | 2"]


def test_a_cell_that_must_be_killed_ends_within_the_stage(run: Callable[..., dict[str, Any]]) -> None:
    """The deadline leaves time for the kill of a process that does not answer a signal, as one that hangs in C.

    That of cells beside each other leaves the part of those that are alone as well, where there are any.
    """
    deadlines: list[float] = []

    def process(cell: Any, answer: Path, seconds: float, log: Path, deadline: float, stop: Event) -> None:
        deadlines.append(deadline)

    begin = time.monotonic()
    run(["good", "good"], seconds=600, cell_seconds=600, process=process)
    run(["good", "good", "good"], seconds=600, cell_seconds=600, alone=False, for_alone=0.4, process=process)
    spent = time.monotonic() - begin
    assert len(deadlines) == 5
    for deadline, kept in zip(deadlines, (0, 0, 240, 240, 0), strict=True):
        assert deadline + GRACE + kept <= begin + 600 + spent


def test_a_stage_that_cannot_run_says_why(tmp_path: Path) -> None:
    from gpu.scheduling import run_stage
    from gpu.stage import Place, Stage

    def no_cells(place: Any) -> Any:
        raise AssertionError("it was asked for its cells")

    place, kept = Place("cuda:0", tmp_path, tmp_path, 60), list[dict[str, Any]]()
    for lack in ("no device", None):
        stage = Stage(1, "small", "?", no_cells, lambda place, lack=lack: lack)
        run_stage(stage, place, lambda *_: [], kept.append, workers=1)
    assert [(record["lack"], record["cells"]) for record in kept] == [
        ("no device", {}),
        ("AssertionError: it was asked for its cells", {}),
    ]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo '580.1, 81559 MiB, 700 W, 1980 MHz, Enabled'", "580.1"),
        ("echo 'no devices were found' >&2; exit 6", "nvidia-smi: no devices were found"),
        ("exec sleep 60", "nvidia-smi: Command"),
    ],
)
def test_what_the_driver_says(script: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu import facts

    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    if "sleep" in script:
        monkeypatch.setattr(facts, "SECONDS", 1)
    known = facts.facts()
    assert str(known["driver_version"]).startswith(expected)
    assert (known.get("power.limit") == "700 W") == (expected == "580.1")


def test_findings_are_kept_after_each_step_and_failures_are_findings(tmp_path: Path) -> None:
    from gpu.stage import Findings

    findings = Findings(tmp_path / "answer.json")
    findings.add({"ms": 1 / 3, "nothing": float("nan"), "text": "two\nlines", "right": True, "count": 7})
    with findings.trying("second"):
        raise ValueError("no\nkernel " + 500 * "x")
    findings.add({"after": 1})
    kept = json.loads((tmp_path / "answer.json").read_text())
    assert kept["figures"] == {
        "ms": 0.3333,
        "nothing": None,
        "text": "two lines",
        "right": True,
        "count": 7,
        "after": 1,
    }
    assert kept["faults"]["second"].startswith("ValueError: no kernel xxx")
    assert len(kept["faults"]["second"]) <= 400
    with pytest.raises(KeyboardInterrupt), findings.trying("third"):
        raise KeyboardInterrupt


def test_one_folder_holds_all_stages_and_is_no_larger_than_can_be_carried(tmp_path: Path) -> None:
    from gpu.kept import check_bounds, check_room, keep_stage, read_findings

    assert read_findings(tmp_path) == {}
    keep_stage(tmp_path / "out", "a", {"seconds": 1})
    keep_stage(tmp_path / "out", "b", {"seconds": 2})
    keep_stage(tmp_path / "out", "a", {"seconds": 3})
    assert read_findings(tmp_path / "out") == {"a": {"seconds": 3}, "b": {"seconds": 2}}
    check_bounds(tmp_path / "out")
    for number in range(8):
        weights = tmp_path / "out" / f"{number}.pth"
        if number < 7:
            check_room(weights)
        else:
            with pytest.raises(InputError, match=r"7.pth: its folder has 8 files, and no more are kept"):
                check_room(weights)
        weights.touch()
    with pytest.raises(InputError, match="9 files, too large: none; expected at most 8 of 16 MiB"):
        check_bounds(tmp_path / "out")
    (tmp_path / "out/findings.json").write_text("{")
    with pytest.raises(InputError, match=r"findings.json: not the findings of a run"):
        read_findings(tmp_path / "out")


def test_every_stage_has_a_question_a_name_and_a_place_in_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu import stage as stage_module
    from gpu.stage import Place, stages
    from gpu.stages import training

    known = stages().values()
    read_once = cache(stage_module.shipped_configs)
    for module in (stage_module, training):
        monkeypatch.setattr(module, "shipped_configs", read_once)
    assert [stage.name for stage in known] == [
        *("environment", "tests", "onnxruntime", "tensorrt", "precisions", "training", "torchrun", "streaming"),
    ]
    for place in (Place("cpu", Path(), Path(), 480, rehearsal=True), Place("cuda:0", Path(), Path(), 480)):
        for stage in known:
            names = [cell.name for cell in stage.cells(place)]
            assert names
            assert len(names) == len(set(names)), f"{stage.name}: two cells of one name"
            assert stage.question.endswith("?")


def test_the_page_of_nothing_says_so(tmp_path: Path) -> None:
    from gpu.page import main

    assert main([str(tmp_path), "--page", str(tmp_path / "gpu.md")]) == 0
    text = (tmp_path / "gpu.md").read_text()
    assert "**nothing on this page was measured**" in text
    assert text.count("Not run.") == 8


def record(**changes: Any) -> dict[str, Any]:
    cell = {"kind": "latency", "seconds": 1.0, "figures": {}, "faults": {}, "lack": None, "ended": None}
    cells = {
        "1": {**cell, "subject": "one", "figures": {"ours ms": 2.5, "right": True, "verdict": "a | b"}},
        "2": {**cell, "subject": "two", "figures": {"right": False}, "faults": {"CUDA graph": "no kernel"}},
        "3": {**cell, "kind": "memory", "subject": "two", "ended": "ended by signal 6: abort"},
        "4": {**cell, "kind": "memory", "subject": "three", "lack": "not installed"},
    }
    facts = {"device": "NVIDIA Something", "torch": "2.11", "tensorrt": None}
    fields = {"began": "2026-01-01T00:00:00+00:00", "seconds": 300.0, "bound": 480, "rehearsal": False, "lack": None}
    return {"facts": facts, **fields, "cells": cells, "left_out": ["memory | four"], **changes}


def test_the_page_has_every_figure_and_every_fault(tmp_path: Path) -> None:
    from gpu.kept import keep_stage
    from gpu.page import main

    keep_stage(tmp_path / "first", "onnxruntime", record())
    keep_stage(tmp_path / "first", "tests", record(lack="there is no CUDA device"))
    keep_stage(tmp_path / "second", "streaming", record(rehearsal=True))
    assert main([str(tmp_path / "first"), str(tmp_path / "second"), "--page", str(tmp_path / "gpu.md")]) == 0
    lines = (tmp_path / "gpu.md").read_text().splitlines()
    assert "|  | ours ms | right | verdict |" in lines
    assert "| one | 2.5 | yes | a \\| b |" in lines
    assert "| two |  | **no** |  |" in lines
    assert "- latency, two, CUDA graph: no kernel" in lines
    assert "- memory, two: ended by signal 6: abort" in lines
    assert "- memory, three: could not run: not installed" in lines
    assert "Left out, because the 480 s were over: memory (1)." in lines
    assert "Could not run: there is no CUDA device." in lines
    assert any("device NVIDIA Something, torch 2.11." in line for line in lines)
    assert sum(line == "Not run." for line in lines) == 6, "a rehearsal measures nothing"


def test_calls_of_one_stage_share_its_section(tmp_path: Path) -> None:
    """The last measurement that found anything counts, whatever the order of the folders; what was left out once and
    measured later is not left out."""
    from gpu.kept import keep_stage
    from gpu.page import main

    cell = {"kind": "latency", "subject": "x", "seconds": 1.0, "faults": {}, "lack": None, "ended": None}
    late = {**cell, "subject": "late", "figures": {}, "ended": "ended after its 5 s; what it had found by then is kept"}
    first = {"a": {**cell, "figures": {"ms": 1.5}}, "b": {**cell, "subject": "y", "figures": {"ms": 2.5}}, "c": late}
    second = {"a": {**cell, "figures": {"ms": 3.5}}, "d": {**cell, "subject": "z", "figures": {"ms": 4.5, "MiB": None}}}
    second |= {"b": {**late, "subject": "y"}}
    for name, cells, left_out, day in (("first", first, ["d", "e"], 1), ("second", second, [], 2)):
        changes = {"cells": cells, "left_out": left_out, "began": f"2026-01-0{day}T00:00:00+00:00"}
        keep_stage(tmp_path / name, "streaming", record(**changes))
    assert main([str(tmp_path / "second"), str(tmp_path / "first"), "--page", str(tmp_path / "gpu.md")]) == 0
    lines = (tmp_path / "gpu.md").read_text().splitlines()
    assert [line for line in lines if line.startswith("| ")][2:] == ["| x | 3.5 |", "| y | 2.5 |", "| z | 4.5 |"]
    assert "Left out, because the 960 s were over: e (1); c (1)." in lines
    assert not [line for line in lines if line.startswith("- ")]


def test_a_stage_of_some_cells() -> None:
    from gpu.stage import Cell, Place, Stage

    cells = [Cell(kind, subject, measure) for kind in ("latency", "memory", "bound") for subject in ("x", "y")]
    stage = Stage(1, "small", "?", lambda place: cells, lambda place: None).matching(["bound", r"^latency.*y"])
    names = [cell.name for cell in stage.cells(Place("cpu", Path(), Path(), 1))]
    assert names == ["latency | y", "bound | x", "bound | y"]


def test_the_first_configs_are_of_every_task() -> None:
    """What has time for some models has seen every task, point clouds too."""
    from gpu.stage import Place

    configs = Place("cuda", Path(), Path(), 1).configs()
    tasks = [Path(config).parent.name for config in configs]
    assert sorted(tasks[: len(set(tasks))]) == sorted(set(tasks))
    assert "detection3d" in tasks


def test_the_operators_run_in_onnxruntime(tmp_path: Path) -> None:
    """Each of them, but for one whose newest version has no kernel at all."""
    from gpu.kernels import GRAPHS, OPSETS, kernels
    from gpu.stage import Findings, Place

    findings = Findings(tmp_path / "found.json")
    kernels(Place("cpu", tmp_path, tmp_path, 1), findings)
    assert findings.faults == {}
    for opset in OPSETS:
        nowhere = findings.figures[f"without a kernel at opset {opset}"]
        assert nowhere == ("RoiAlign" if opset >= 22 else "none")
        assert findings.figures[f"differ at opset {opset}"] == "none"
        assert str(findings.figures[f"on the CPU at opset {opset}"]).startswith(", ".join(list(GRAPHS)[:3]))


def test_a_faulty_thread_of_a_throughput_is_raised() -> None:
    from gpu.timed import per_second

    assert per_second([lambda: None, lambda: None], 5) > 0
    with pytest.raises(ZeroDivisionError):
        per_second([lambda: None, lambda: 1 / 0], 5)


def test_the_memory_of_a_device_is_counted_while_the_run_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from gpu.device_memory import RUNS, growth_there

    taken: list[int] = []
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000 - 10 * len(taken), 1000))
    assert growth_there(lambda: lambda: taken.append(0), "cuda:0") == 10 * RUNS
