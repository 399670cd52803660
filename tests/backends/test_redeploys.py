"""A load beside redeploys is of one deployment: the one before or the one after."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from backends import gpu, loading
from backends.runner import Runner
from backends.tensorrt import library as library_module
from backends.tensorrt import runner, running
from pipeline.candidates import judged_rows
from pipeline.candidates.candidate import Candidate
from pipeline.evaluation.session import Session
from pipeline.publishing.exchange import exchange
from pipeline.report.recorded import read_recorded
from tests.backends.twins import KINDS, RTX_VERSION, numbers, write_twin
from zoo import opened_file, opened_folder
from zoo.errors import InputError
from zoo.manifest import Manifest
from zoo.opened_file import as_opened
from zoo.opened_folder import ATTEMPTS, Folder, OpenedFolder

LOADS = 2000
EXCHANGE = """
import sys, time
from pathlib import Path
from pipeline.publishing.exchange import exchange
place, other = map(Path, sys.argv[1:])
print("ready", flush=True)
while True:
    assert exchange(place, other)
    time.sleep(0.004)
"""
PUBLISH = """
import itertools, shutil, sys
from pathlib import Path
from pipeline.publishing.publish import publication
place, *twins = map(Path, sys.argv[1:])
print("ready", flush=True)
for twin in itertools.cycle(twins):
    with publication(place) as folder:
        shutil.copytree(twin, folder, dirs_exist_ok=True)
"""


@pytest.fixture(autouse=True)
def engine_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with tensorrt_rtx and a GPU; its runner only reads the plan."""

    class PlanRunner(Runner):
        def __init__(self, plan: Any, inputs: Any, outputs: Any, axes: Any, **options: Any) -> None:
            super().__init__(inputs, outputs, axes, options["defaults"])
            with as_opened(plan) as file:
                self.plan = file.read()

        def _run(self, arrays: Any) -> Any:
            raise NotImplementedError

        def _release(self) -> None: ...

    here = loading.require
    monkeypatch.setattr(loading, "require", lambda backend: None if backend == "tensorrt-rtx" else here(backend))
    monkeypatch.setattr(library_module, "library", lambda backend: SimpleNamespace(__version__=RTX_VERSION))
    monkeypatch.setattr(gpu, "gpu", lambda number: None)
    monkeypatch.setattr(running, "can_run", lambda backend, device: None)
    monkeypatch.setattr(runner, "TensorRTRunner", PlanRunner)


@pytest.fixture(params=KINDS)
def twins(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """The place, where twin 1 is, and twin 2 beside it."""
    return write_twin(tmp_path / "place", 1, request.param), write_twin(tmp_path / "other", 2, request.param)


@pytest.fixture(params=["descriptors", "no /proc", "paths"])
def _each_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux; a system without /proc; one without descriptors of folders, too."""
    if request.param != "descriptors":
        monkeypatch.setattr(opened_file, "DESCRIPTORS", "/nowhere/fd")
    if request.param == "paths":
        monkeypatch.setattr(opened_folder, "BY_DESCRIPTOR", False)


def after_the_manifest(monkeypatch: pytest.MonkeyPatch, redeploy: Callable[[], None]) -> list[int]:
    """`redeploy` is called when the manifest has been read, and nothing else; each call is counted."""
    calls: list[int] = []
    before = loading.require

    def require(backend: str) -> None:
        before(backend)
        calls.append(1)
        redeploy()

    monkeypatch.setattr(loading, "require", require)
    return calls


@pytest.mark.usefixtures("_each_system")
def test_a_redeploy_between_manifest_and_graph(twins: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    place, other = twins

    def redeploy() -> None:
        if len(calls) == 1:
            assert exchange(place, other)

    calls = after_the_manifest(monkeypatch, redeploy)
    with loading.load(place) as model:
        described, found = numbers(model)
    assert described == found
    assert len(calls) in (1, 2)


@pytest.mark.usefixtures("_each_system")
def test_the_old_one_is_removed_meanwhile(twins: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    place, other = twins

    def publish() -> None:
        if len(calls) == 1:
            assert exchange(place, other)
            shutil.rmtree(other)

    calls = after_the_manifest(monkeypatch, publish)
    with loading.load(place) as model:
        assert numbers(model) == (2, 2)
    assert len(calls) == 2, "it began again"


def test_a_redeploy_between_manifest_and_parity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, other = (write_twin(tmp_path / f"place {number}", number, "onnxruntime") for number in (1, 2))
    for number, folder in ((1, place), (2, other)):
        (folder / "parity.json").write_text(json.dumps({"number": number}))
        (folder / "previews").mkdir()
        (folder / "previews" / f"{number}.png").write_bytes(b"%d" % number)
    read = Manifest.read

    def redeploy(folder: Folder) -> Manifest:
        manifest = read(folder)
        assert exchange(place, other)
        return manifest

    monkeypatch.setattr(Manifest, "read", redeploy)
    with OpenedFolder(place) as folder:
        side = read_recorded(folder)
        assert (side.manifest.name, side.parity, list(side.previews)) == ("twin 1", {"number": 1}, ["1.png"])
        assert side.preview("1.png").read() == b"1"


def test_a_redeploy_during_an_evaluation_is_reported(tmp_path: Path) -> None:
    place, other = (write_twin(tmp_path / f"place {number}", number, "onnxruntime") for number in (1, 2))
    candidate = Candidate("it", place, Manifest.read_verified(place))
    plan = SimpleNamespace(config=SimpleNamespace(source_hashes=dict))
    session = cast(Session, SimpleNamespace(provider=None, pool=None, plan=plan))
    assert exchange(place, other)
    with pytest.raises(InputError, match="place 1: another deployment has taken its place since the evaluation began"):
        judged_rows._candidate(session, candidate)


def test_without_end_it_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, other = write_twin(tmp_path / "place", 1, "onnxruntime"), tmp_path / "other"

    def publish() -> None:
        write_twin(other, 2, "onnxruntime")
        assert exchange(place, other)
        shutil.rmtree(other)

    calls = after_the_manifest(monkeypatch, publish)
    with pytest.raises(InputError, match=rf"place: was replaced {ATTEMPTS} times while it was read; wait for the dep"):
        loading.load(place)
    assert len(calls) == ATTEMPTS


def test_a_true_fault_is_raised_at_once(twins: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    place, _ = twins
    calls = after_the_manifest(monkeypatch, (place / "model.onnx").unlink)
    with pytest.raises(InputError, match=r"model\.onnx: cannot be read \(No such file"):
        loading.load(place)
    assert len(calls) == 1


@pytest.mark.usefixtures("_each_system")
def test_nothing_stays_open(twins: tuple[Path, Path]) -> None:
    place, other = twins
    descriptors = Path("/proc/self/fd")
    loading.load(place).close()
    before = len(list(descriptors.iterdir()))
    for _ in range(3):
        loading.load(place).close()
    (other / "model.onnx").write_bytes(b"")
    for _ in range(3):
        with pytest.raises(InputError):
            loading.load(other)
    assert len(list(descriptors.iterdir())) <= before


@contextmanager
def beside(code: str, *arguments: Path) -> Iterator[None]:
    """A process of its own that goes on for ever, and is ended."""
    with subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield
            assert process.poll() is None, "it ended before the loads did"
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")
@pytest.mark.parametrize("code", [EXCHANGE, PUBLISH], ids=["exchanges", "publishes"])
def test_2000_loads_beside_redeploys(code: str, twins: tuple[Path, Path], tmp_path: Path) -> None:
    place, other = twins
    arguments = [place, other]
    if code == PUBLISH:
        arguments = [place, other, shutil.copytree(place, tmp_path / "first")]
    seen, faults = [], []
    with beside(code, *arguments):
        for _ in range(LOADS):
            try:
                with loading.load(place) as model:
                    seen.append(numbers(model))
            except InputError as error:
                faults.append(str(error))
    mixed = [pair for pair in seen if pair[0] != pair[1]]
    assert (len(mixed), faults[:3]) == (0, [])
    assert {described for described, _ in seen} == {1, 2}, "no redeploy was seen"
