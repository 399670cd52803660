"""tools/regression.py: exit codes, what is printed and written, interruptions, and the small matrix for real."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.examples import slow_but
from tests.pipeline.regression.world import FAKE, World
from tests.tools.tiny import Run
from zooport.commands import regression
from zooport.verbs import run_verb

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).parent / "regress_fake.py"
Regress = Callable[..., Run]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An empty one."""
    return World(tmp_path).make(monkeypatch)


@pytest.fixture
def regress(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Regress:
    """Run `zooport regression` in this process, with the fake of zooport."""
    monkeypatch.setattr(regression, "ZOOPORT", FAKE)

    def run(*more: object) -> Run:
        capsys.readouterr()
        code = run_verb([*map(str, ("regression", world.matrix, "--work-dir", world.work_dir, *more))])
        return Run(code, *capsys.readouterr())

    return run


def test_all_green(regress: Regress, world: World) -> None:
    world.config("model")
    world.config("left_out")
    world.write(exclude=[{"model": "left_out", "reason": "known [for] long"}])
    data = world.folder / "data.json"
    run = regress("--json", data)
    assert (run.code, run.err) == (0, "")
    for words in (
        "model-onnxruntime-fp32-dynamo: passed (",
        " s), 0 left\n",
        "box_AP 60.02 (+0.020 points)",
        "left_out-onnxruntime-fp32-dynamo: excluded: known [for] long\n",
        "1 of 2 cells passed; 1 excluded\n",
        f"report:   {world.work_dir / 'report.html'}\n",
        f"markdown: {world.work_dir / 'report.md'}\n",
    ):
        assert words in run.out
    written = json.loads(data.read_text(encoding="utf-8"))
    assert written["exit_code"] == 0
    states = {cell["id"]: cell["state"] for cell in written["cells"]}
    assert states == {"left_out-onnxruntime-fp32-dynamo": "excluded", "model-onnxruntime-fp32-dynamo": "passed"}
    assert written["cells"][1]["measured"]["difference"] == 0.02


def test_one_that_failed_is_exit_code_3(regress: Regress, world: World) -> None:
    world.config("bad", evaluate="missed mAP fell by much")
    world.config("good")
    world.write()
    data = world.folder / "data.json"
    run = regress("--json", data)
    report = world.work_dir / "report.html"
    assert (run.code, run.err) == (3, f"error: 1 of 2 cells did not pass; see {report}\n")
    assert "bad-onnxruntime-fp32-dynamo: metric gate missed: mAP fell by much\n" in run.out
    written = json.loads(data.read_text(encoding="utf-8"))
    assert (written["exit_code"], written["summary"]) == (3, "1 of 2 cells passed; 1 metric gate missed")
    assert len(written["cells"]) == 2
    world.config("bad")
    run = regress("--rerun-failed")
    assert run.code == 0
    assert "1 of 2 cells are of an earlier run\n" in run.out
    assert len(world.calls("good")) == 2


def test_faults_of_the_file_are_one_line(regress: Regress, world: World) -> None:
    world.write(limit=0, exporter="x")
    run = regress()
    assert run.code == 2
    assert run.err.startswith(f"error: matrix {world.matrix}: ")
    assert run.err.count("\n") == 1
    assert not world.work_dir.exists()


def start(world: World) -> "subprocess.Popen[str]":
    """A run in a process of its own, whose first cell is done and whose second one hangs."""
    world.config("a_done")
    world.config("b_hangs", deploy="hang")
    world.config("c_waits")
    world.write()
    command = [sys.executable, SCRIPT, world.matrix, "--work-dir", world.work_dir]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (world.folder / "b_hangs.pids").is_file():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", slow_but([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_an_interruption_ends_the_running_group_and_keeps_what_is_done(
    regress: Regress, world: World, number: signal.Signals
) -> None:
    with start(world) as process:
        process.send_signal(number)
        _, err = process.communicate()
    assert (process.returncode, err) == (130, "interrupted; 1 of 3 cells have a result, and --resume keeps it\n")
    world.assert_ended("b_hangs")
    assert not world.calls("c_waits")
    assert sorted(path.name for path in world.folder.iterdir() if path.suffix == ".lock") == []
    world.config("b_hangs")
    run = regress("--resume")
    assert run.code == 0, run.err
    assert "3 of 3 cells passed" in run.out
    assert len(world.calls("a_done")) == 2


def test_a_second_run_in_the_same_place_is_refused(regress: Regress, world: World) -> None:
    with start(world) as process:
        run = regress()
        process.terminate()
        process.communicate()
    assert run.code == 2
    assert f"process {process.pid} is writing into it right now" in run.err


@pytest.mark.slow
def test_the_small_matrix(tmp_path: Path) -> None:
    work_dir, data = tmp_path / "work", tmp_path / "data.json"
    command: list[Any] = [sys.executable, "tools/regression.py", "configs/regression/small.yaml"]
    done = subprocess.run(
        [*command, "--work-dir", work_dir, "--json", data], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    cells = json.loads(data.read_text(encoding="utf-8"))["cells"]
    assert {cell["exporter"] for cell in cells} == {"dynamo", "torchscript"}
    for cell in cells:
        assert cell["state"] == "passed"
        assert cell["measured"]["metric"] == "segmentation/mIoU"
        assert cell["measured"]["images"] == 4
        assert abs(cell["measured"]["difference"]) <= cell["measured"]["gate"] == 0.1
        listed = ("model.onnx", "self_test.npz")
        assert cell["bytes"] == sum((work_dir / cell["deployment"] / name).stat().st_size for name in listed)
        assert (work_dir / cell["deployment"] / "report.html").is_file()
