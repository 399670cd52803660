"""What becomes of a cell, alone and among others."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.publishing.lock import locked
from pipeline.regression.cell import Cell
from pipeline.regression.matrix import load_matrix
from pipeline.regression.result import Result, result_file
from pipeline.regression.state import State, reason_of
from tests.pipeline.regression.world import World
from zoo.errors import InputError


@pytest.mark.parametrize(
    ("deploy", "evaluate", "state", "reason"),
    [
        ("good", "good", State.PASSED, ""),
        ("error 3 scores differ", "good", State.PARITY_MISSED, "scores differ"),
        ("good", "missed mAP fell", State.METRIC_MISSED, "mAP fell"),
        ("good", "unjudged", State.NOT_JUDGED, "has no evaluator"),
        ("error 4 no tensorrt", "good", State.UNAVAILABLE, "no tensorrt"),
        pytest.param("good", "error 4 no pycocotools", State.UNAVAILABLE, "no pycocotools", marks=pytest.mark.slow),
        ("lacks timm", "good", State.NOT_INSTALLED, "timm"),
        ("error 5 opset", "good", State.REFUSED, "opset"),
        ("error 2 no such file", "good", State.INPUT, "no such file"),
        pytest.param("good", "error 2 no images", State.INPUT, "no images", marks=pytest.mark.slow),
        ("error 1 boom", "good", State.FAULT, "boom"),
        ("mute 1 error: the last line", "good", State.FAULT, "the last line"),
        (
            "mute 77 a library's words",
            "good",
            State.CRASHED,
            "zooport deploy ended with exit code 77: a library's words",
        ),
        ("good", "error 130 interrupted", State.CRASHED, "zooport evaluate ended with exit code 130: interrupted"),
        ("signal SIGSEGV", "good", State.CRASHED, "zooport deploy was killed by SIGSEGV (Segmentation fault)"),
        pytest.param(
            *("good", "signal SIGABRT", State.CRASHED),
            "zooport evaluate was killed by SIGABRT (Aborted)",
            marks=pytest.mark.slow,
        ),
        (
            *("signal SIGKILL", "good", State.CRASHED),
            "zooport deploy was killed by SIGKILL (Killed); the kernel does this when memory runs out",
        ),
        ("mute 0", "good", State.FAULT, "zooport deploy ended with 0 and did not say where the deployment is"),
        ("good", "mute 0", State.FAULT, "zooport evaluate ended with 0 and did not say that a metric passed"),
    ],
)
def test_states(world: World, deploy: str, evaluate: str, state: State, reason: str) -> None:
    result = world.outcome(deploy=deploy, evaluate=evaluate)
    assert result.state is state
    assert reason == result.reason if state is not State.NOT_JUDGED else reason in result.reason
    ran = 1 if deploy != "good" else 2
    assert len(world.calls("model")) == len(result.logs) == ran
    for log in result.logs:
        assert "an ordinary line" in (world.work_dir / log).read_text(encoding="utf-8")
    assert (result.measured is not None) == (
        (evaluate in ("good", "unjudged") and deploy == "good") or "missed" in evaluate
    )


def test_a_name_that_is_no_utf8_can_be_shown(tmp_path: Path) -> None:
    reason = reason_of("deploy", 2, {"error": "caf\udce9.jpg: no such file"}, tmp_path / "log")
    assert reason == r"caf\udce9.jpg: no such file"


def test_a_crash_leaves_the_stack_in_the_log(world: World) -> None:
    result = world.outcome(evaluate="signal SIGSEGV")
    text = (world.work_dir / result.logs[1]).read_text(encoding="utf-8")
    assert "Fatal Python error: Segmentation fault" in text
    assert "fake_tool.py" in text


def test_what_was_measured(world: World) -> None:
    result = world.outcome(evaluate="missed by far")
    measured = result.measured
    assert measured is not None
    assert (measured.metric, measured.unit, measured.images) == ("coco/box_AP", "points", 4)
    assert (measured.figure, measured.reference, measured.difference, measured.gate) == (57.5, 60.0, -2.5, 0.1)
    assert measured.interval == (-2.6, -2.4)
    assert result.deployment == "cells/model-onnxruntime-fp32-dynamo/place"
    assert Result.read(world.work_dir, "model-onnxruntime-fp32-dynamo") == result


def test_the_commands(world: World) -> None:
    world.config("model")
    world.write(backends=["tensorrt"], precisions=["int8"], exporters=["torchscript"], limit=7, gate_split=True)
    world.run()
    folder = world.work_dir / "cells" / "model-tensorrt-int8-torchscript"
    target = "--backend tensorrt --precision int8 --exporter torchscript"
    images = f"--deployment {folder / 'place'} --limit 7 --gate-split"
    folders = f"--work-dir {folder} --reference-results {world.work_dir / 'reference_results'}"
    assert world.calls("model") == [
        f"deploy {target} {folders} --json {folder / 'deploy.json'}",
        f"evaluate {images} {folders} --json {folder / 'evaluate.json'}",
    ]


@pytest.mark.parametrize(
    ("step", "act"), [pytest.param("deploy", "hang", marks=pytest.mark.slow), ("evaluate", "hang deaf")]
)
def test_what_hangs_is_ended_with_all_its_children(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str, act: str
) -> None:
    monkeypatch.setattr("pipeline.regression.child.GRACE", 0.5)
    world.config("calm")
    world.config("hangs", **{step: act})
    world.write(timeout_seconds=2)
    found = world.run()
    states = {cell.model: result for cell, result in found.cells}
    assert states["calm"].state is State.PASSED
    assert states["hangs"].state is State.TIMED_OUT
    assert states["hangs"].reason == f"zooport {step} had not ended 2 s after the cell began, and was killed"
    world.assert_ended("hangs")


def test_a_failure_costs_one_cell(world: World) -> None:
    for name, act in (("a", "signal SIGSEGV"), ("b", "good"), ("c", "error 5 no"), ("d", "good")):
        world.config(name, deploy=act)
    world.write(exclude=[{"model": "d", "reason": "known"}])
    found = world.run(jobs=3)
    assert [result.state for _, result in found.cells] == [State.CRASHED, State.PASSED, State.REFUSED, State.EXCLUDED]
    assert found.summary == "1 of 4 cells passed; 1 export refused, 1 crashed, 1 excluded"
    assert [cell.model for cell, _ in found.failed] == ["a", "c"]
    assert not world.calls("d")


def test_finished_cells_outlive_an_interruption(world: World) -> None:
    for name, act in (("a", "good"), ("b", "good"), ("c", "hang")):
        world.config(name, deploy=act)
    world.write()

    def interrupt(cell: Cell, result: Result | None, left: int) -> None:
        if cell.model == "b" and result is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        world.run(progress=interrupt)
    assert caught.value.__notes__ == ["2 of 3 cells have a result, and --resume keeps it"]
    page = (world.work_dir / "report.md").read_text(encoding="utf-8")
    assert "**2 of 3 cells passed; 1 not run yet.**" in page
    world.config("c")
    found = world.run(resume=True)
    assert (found.resumed, found.summary) == (2, "3 of 3 cells passed")
    assert (len(world.calls("a")), len(world.calls("b"))) == (2, 2)


def test_a_result_is_on_the_disk_before_the_next_cell_begins(world: World) -> None:
    for name in ("a", "b", "c"):
        world.config(name)
    cells = load_matrix(world.write()).cells
    written: list[list[str]] = []

    def watch(cell: Cell, result: Result | None, left: int) -> None:
        if result is None:
            written.append([other.model for other in cells if result_file(world.work_dir, other.id).is_file()])

    world.run(progress=watch)
    assert written == [[], ["a"], ["a", "b"]]


def test_progress_tells_beginnings_ends_and_what_is_left(world: World) -> None:
    for name in ("a", "b"):
        world.config(name)
    world.write()
    reported: list[Any] = []
    world.run(progress=lambda cell, result, left: reported.append((cell.model, result and result.state, left)))
    assert reported[0] == ("a", None, 2)
    assert {entry for entry in reported if entry[1]} == {("a", State.PASSED, 1), ("b", State.PASSED, 0)}


def test_one_run_at_a_time(world: World) -> None:
    world.config("model")
    world.write()
    world.work_dir.mkdir()
    with locked(world.work_dir), pytest.raises(InputError, match="is writing into it right now.*another --work-dir"):
        world.run()
    assert not world.calls("model")


def test_a_file_in_the_way_is_named(world: World) -> None:
    world.config("model")
    world.write()
    world.work_dir.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"work: cannot be written .*give another --work-dir"):
        world.run()


def test_no_jobs(world: World) -> None:
    world.config("model")
    world.write()
    with pytest.raises(InputError, match="--jobs 0: expected 1 or more"):
        world.run(jobs=0)
