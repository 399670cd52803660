"""What becomes of a build whose process dies, hangs or is interrupted. It is a stand-in: the library is not needed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.engine_options import EngineOptions
from backends.tensorrt import build
from backends.tensorrt.refused import EngineRefusedError
from backends.tensorrt.scratch import scratch_folder
from tests.backends.tensorrt.graphs import AXES, IMAGES, convolution
from zoo.errors import BackendUnavailableError, ExportError, InputError

ROOT = Path(__file__).resolve().parents[3]

Build = Callable[..., None]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """run(code, options ...): a build whose process runs this code. What a failed one leaves is checked."""

    def start(code: str, **options: int) -> None:
        monkeypatch.setattr(build, "COMMAND", (sys.executable, "-c", code))
        onnx = convolution(tmp_path / "model.onnx")
        plan = tmp_path / "model.engine"
        plan.write_bytes(b"the engine before")
        try:
            build.build_engine(onnx, plan, "tensorrt-rtx", EngineOptions(**options), [IMAGES], AXES, precision="fp32")  # type: ignore[arg-type]
        finally:
            assert plan.read_bytes() == b"the engine before"
            assert {path.name for path in tmp_path.iterdir()} - {"pid"} == {"model.engine", "model.onnx"}

    return start


def ended(pid: int) -> bool:
    """Whether the process is gone, or only its exit status is left."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT"])
def test_a_native_abort_is_one_line(run: Build, name: str) -> None:
    code = f"import os, signal; os.write(2, b'terminate called'); os.kill(os.getpid(), signal.{name})"
    with pytest.raises(EngineRefusedError) as raised:
        run(code)
    assert raised.value.reason == f"its native code failed with {name}; its last message: terminate called"


def test_a_killed_process(run: Build) -> None:
    with pytest.raises(ExportError, match="model.onnx was killed, most likely because the machine ran out of memory;"):
        run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")


def test_a_process_without_an_answer(run: Build) -> None:
    with pytest.raises(ExportError, match="ended with exit status 1 and no engine; its last message: ValueError: x"):
        run("raise ValueError('x')")


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ('{"fault": "input", "message": "no room"}', InputError, "no room"),
        ('{"fault": "unavailable", "message": "no GPU"}', BackendUnavailableError, "no GPU"),
        ('{"fault": "failed", "message": "TypeError: x"}', ExportError, "the build of model.onnx failed: TypeError: x"),
        (
            '{"fault": "unwritten", "errno": 28}',
            InputError,
            "model.engine: cannot be written .No space.*; make room, or",
        ),
        ('{"fault": "memory"}', ExportError, "ran out of the machine.s memory; close other programs"),
    ],
)
def test_each_fault_has_its_class(run: Build, answer: str, error: type[Exception], message: str) -> None:
    answer = json.dumps({**json.loads(answer), "reported": []})
    code = f"print({answer!r})"
    with pytest.raises(error, match=message):
        run(code, memory_limit_mib=300)


def test_at_the_memory_limit_it_is_ended(run: Build) -> None:
    code = "import time; held = bytearray(b'x') * (300 << 20); time.sleep(60)"
    with pytest.raises(ExportError, match="took more than 200 MiB of memory and was stopped; raise the engine option"):
        run(code, memory_limit_mib=200)


def test_at_the_time_limit_it_is_ended_with_all_that_it_started(run: Build, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "import subprocess, sys, time; child = subprocess.Popen(['sleep', '60']); "
        f"open({str(pid)!r}, 'w').write(str(child.pid)); time.sleep(60)"
    )
    with pytest.raises(
        ExportError, match="took longer than 1 s and was stopped; raise the engine option timeout_seconds"
    ):
        run(code, timeout_seconds=1)
    if pid.exists():  # else the machine was so slow that it did not come to that
        wait_for(lambda: ended(int(pid.read_text())))


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_process_ends_with_the_one_that_asked(tmp_path: Path, how: signal.Signals) -> None:
    convolution(tmp_path / "model.onnx")
    child = (
        "import json, os, sys, time; from backends.tensorrt.parent_death import die_with; "
        "die_with(json.load(sys.stdin)['parent']); open('pid.part', 'w').write(str(os.getpid())); "
        "os.rename('pid.part', 'pid'); time.sleep(60)"
    )
    parent = (
        "import sys; from backends.tensorrt import build; from backends.engine_options import EngineOptions; "
        "from zoo.tensor_spec import TensorSpec; "
        f"build.COMMAND = (sys.executable, '-c', {child!r}); "
        "build.build_engine('model.onnx', 'model.engine', 'tensorrt-rtx', EngineOptions(), "
        "[TensorSpec('images', 'float32', (1, 3, 16, 24))], {}, precision='fp32')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    ) as asking:
        wait_for(lambda: (tmp_path / "pid").exists() or asking.poll() is not None)
        asking.send_signal(how)
        said = asking.communicate()[1]
    if how == signal.SIGINT:
        assert said.rstrip().endswith("KeyboardInterrupt")
        assert {path.name for path in tmp_path.iterdir()} == {"model.onnx", "pid"}
    wait_for(lambda: ended(int((tmp_path / "pid").read_text())))
    assert not (tmp_path / "model.engine").exists()
    with scratch_folder(tmp_path / "model.engine") as scratch:
        assert {path.name for path in tmp_path.iterdir()} == {"model.onnx", "pid", scratch.name}


@pytest.mark.parametrize(
    ("visible", "device", "seen"),
    [(None, "cuda:1", "1"), ("3, 5", "cuda:1", "5"), ("3", "cuda", "3"), ("3", "cuda:1", ""), ("", "cuda:0", "")],
)
def test_it_sees_the_gpu_that_the_engine_is_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str | None, device: str, seen: str
) -> None:
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    code = (
        "import json, os; "
        "print(json.dumps({'fault': 'input', 'message': f'[{os.environ[\"CUDA_VISIBLE_DEVICES\"]}]', 'reported': []}))"
    )
    monkeypatch.setattr(build, "COMMAND", (sys.executable, "-c", code))
    onnx = convolution(tmp_path / "model.onnx")
    with pytest.raises(InputError) as raised:
        build.build_engine(
            onnx, tmp_path / "m", "tensorrt", EngineOptions(), [IMAGES], AXES, precision="fp32", device=device
        )
    assert str(raised.value) == f"[{seen}]"


def test_its_warnings_are_logged(run: Build, caplog: pytest.LogCaptureFixture) -> None:
    answer = json.dumps({"fault": "input", "message": "x", "reported": ["the cache is corrupt"]})
    with pytest.raises(InputError, match="x"):
        run(f"print({answer!r})")
    assert [record.getMessage() for record in caplog.records] == ["the cache is corrupt"]


def test_it_finds_the_modules_of_the_current_folder(
    run: Build, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As python -c has it in sys.path, by the name "". The build's own process does not add it: it has -P."""
    folder = tmp_path_factory.mktemp("current")
    answer = json.dumps({"fault": "input", "message": "ours", "reported": []})
    (folder / "only_here.py").write_text(f"print({answer!r})")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with pytest.raises(InputError, match="ours"):
        run("import sys; del sys.path[0]; import only_here")


def test_a_process_that_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "COMMAND", (str(tmp_path / "none"),))
    onnx = convolution(tmp_path / "model.onnx")
    with pytest.raises(ExportError, match="the process of the build cannot be started .No such file or directory"):
        build.build_engine(
            onnx, tmp_path / "model.engine", "tensorrt", EngineOptions(), [IMAGES], AXES, precision="fp32"
        )


def test_what_a_killed_build_left_is_removed_and_what_another_has_is_not(run: Build, tmp_path: Path) -> None:
    left, plan = tmp_path / ".model.engine.building-killed00", tmp_path / "model.engine"
    left.mkdir()
    (left / "plan").write_bytes(b"half")
    with scratch_folder(plan) as held:
        assert not left.exists()
        with scratch_folder(plan):
            assert held.exists()
    assert not held.exists()
    left.mkdir()
    with pytest.raises(InputError):
        run('print(\'{"fault": "input", "message": "", "reported": []}\')')


def test_a_fault_of_the_bindings_is_one_line_and_what_was_logged_is_reported(
    run: Build, caplog: pytest.LogCaptureFixture
) -> None:
    code = (
        "import logging; from backends.tensorrt import building\n"
        "def build(request):\n"
        "    print('noise of native code')\n"
        "    logging.getLogger('x').warning('the cache %s', 'is corrupt')\n"
        "    raise TypeError('wrong arguments\\n1. these')\n"
        "building.build = build\n"
        "building.main()"
    )
    with pytest.raises(ExportError) as raised:
        run(code)
    assert str(raised.value) == "the build of model.onnx failed: TypeError: wrong arguments"
    assert [record.getMessage() for record in caplog.records] == ["the cache is corrupt"]


def test_what_varies_between_builds_is_not_in_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"library_version": "11", "device": None, "layers": {}, "plan_sha256": "", "bytes": 0, "warnings": ["slow"]}
    answer = {"built": {"record": facts, "seconds": 2.5}, "reported": []}
    code = f"import json, sys; open(json.load(sys.stdin)['plan'], 'w').close(); print({json.dumps(answer)!r})"
    monkeypatch.setattr(build, "COMMAND", (sys.executable, "-c", code))
    onnx, plan = convolution(tmp_path / "m.onnx"), tmp_path / "m.engine"
    built = build.build_engine(onnx, plan, "tensorrt", EngineOptions(), [IMAGES], AXES, precision="int8")
    assert (built.seconds, built.record.precision, built.record.warnings) == (2.5, "int8", ("slow",))
    assert "seconds" not in json.loads((tmp_path / "m.engine.json").read_text())
