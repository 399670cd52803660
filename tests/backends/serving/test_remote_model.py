"""zooport predict http://...: the results, files and faults of the deployment itself, through a server of the tests."""

import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends import load
from backends.serving import remote_model
from backends.serving.address import parse_address
from backends.serving.protocol import DEPLOYMENT
from backends.serving.remote_model import RemoteModel
from tests.backends.serving.conftest import OUTPUTS
from tests.backends.serving.small_server import Server, serving
from tests.examples import slow_but
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run
from tests.zoo.sources.videos import write_video
from zoo.errors import BackendUnavailableError, InputError

needs_client = pytest.mark.skipif(
    find_spec("tritonclient") is None, reason="needs the extra serve (tritonclient), which sends requests"
)
Predict = Callable[[Sequence[str]], Run]


@pytest.fixture
def server(served: Any) -> Iterator[Server]:
    name, model = served
    with serving(name, model, [*OUTPUTS[name], DEPLOYMENT]) as running:
        yield running


@pytest.fixture
def predict(capsys: pytest.CaptureFixture[str]) -> Predict:
    return in_this_process("predict", capsys)


def written(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("[!.]*") if path.is_file()}


@needs_client
@pytest.mark.parametrize("workers", slow_but([[], ["--workers", "3"]], ["--workers", "3"]))
def test_the_same_files_as_a_local_deployment(
    server: Server,
    deployments: dict[str, Path],
    files: list[Path],
    predict: Predict,
    tmp_path: Path,
    workers: list[str],
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for path in files:
        (photos / path.name).write_bytes(path.read_bytes())
    (photos / "2a.png").write_bytes(b"no image")
    write_video(photos / "a.avi", frames=3)
    for name, deployment in (("local", deployments[server.name]), ("remote", server.address)):
        flags = ["--out", str(tmp_path / name), "--format", "files", "jsonl", "--draw", *workers]
        run = predict([str(deployment), str(photos), *flags])
        assert (run.code, run.err.count("\n")) == (6, 2)  # the file that is no image, and the sum
    local, remote = written(tmp_path / "local"), written(tmp_path / "remote")
    assert local.keys() == remote.keys()
    assert len(local) > 6
    drawn = {name for name in local if name.endswith(".mp4")}  # whose encoder has a clock
    assert all(local[name] == remote[name] for name in local.keys() - drawn)


@needs_client
def test_results_are_equal_to_the_bit(server: Server, deployments: dict[str, Path], files: list[Path]) -> None:
    with load(deployments[server.name], threads=1) as local, RemoteModel(server.address, workers=2) as remote:
        for ours, theirs in zip(local.stream(files), remote.stream(files), strict=True):
            assert theirs.result == ours.result
            assert theirs.result.names == ours.result.names
            np.testing.assert_array_equal(theirs.draw(), ours.draw())


@needs_client
@pytest.mark.parametrize("served", slow_but(OUTPUTS, "detector"), indirect=True)
def test_a_full_server_is_asked_again(server: Server, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_model, "WAITS", (0.0, 0.0))
    infer = RemoteModel._infer

    def infer_and_fill(remote: RemoteModel, *arguments: object) -> object:
        answer = infer(remote, *arguments)
        server.full = 2
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(RemoteModel, "_infer", infer_and_fill)
        remote = RemoteModel(server.address)  # which asks for the outputs as well
    assert server.full == 0
    with remote:
        server.full = 2
        (prediction,) = remote.stream(files[0])
        assert prediction.fault is None
        server.full = 3
        with pytest.raises(BackendUnavailableError, match="Exceeds maximum queue size"):
            list(remote.stream(files[0]))


@needs_client
def test_what_the_server_refuses_is_the_images_fault(
    server: Server, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with RemoteModel(server.address) as remote:
        monkeypatch.setattr(server.model, "execute", lambda _: [server.model._tensors.refusal(InputError("too wide"))])
        (prediction,) = remote.stream(files[0])
    assert prediction.fault == f"{files[0]}: too wide"


@needs_client
def test_another_model_another_input_and_no_server(server: Server, predict: Predict, files: list[Path]) -> None:
    run = predict([server.address + "x", str(files[0])])
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "the server has no such model" in run.err
    run = predict([server.address, str(files[0]), "--input", "scale=2"])
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert 'unknown input "scale"' in run.err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and listens to nobody
        run = predict([f"http://127.0.0.1:{taken.getsockname()[1]}/cars", str(files[0])])
    assert (run.code, run.err.count("\n")) == (4, 1)
    assert "the server does not answer" in run.err


@pytest.mark.parametrize("address", ["http://", "http://host:8000", "http://host:8000/", "https://me:secret@host/cars"])
def test_what_is_no_address(address: str, predict: Predict, files: list[Path]) -> None:
    run = predict([address, str(files[0])])
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "expected the address of a model, for example http://localhost:8000/cars" in run.err
    assert "secret" not in run.err


def test_addresses() -> None:
    assert parse_address("http://host:8000/cars") == (False, "host:8000", "cars")
    assert parse_address("https://host/some/path/cars/") == (True, "host/some/path", "cars")


def test_a_device_is_the_servers_business(predict: Predict, files: list[Path]) -> None:
    run = predict(["http://localhost:1/cars", str(files[0]), "--device", "cpu"])
    assert (run.code, "the server chooses the device" in run.err) == (2, True)


def test_without_the_client_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tritonclient", "tritonclient.http"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BackendUnavailableError, match=r'pip install "zooport\[serve\]"'):
        RemoteModel("http://localhost:1/cars")
