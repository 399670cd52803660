"""zooport predict http://...: the results, files and faults of the deployment itself, through a server of the tests."""

import json
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends import load
from backends.serving import remote_model
from backends.serving.address import parse_address
from backends.serving.protocol import DEPLOYMENT, manifest_content
from backends.serving.remote_model import RemoteModel
from backends.serving.v2_http import error_body
from tests.backends.serving.conftest import ADJUSTABLE, OUTPUTS
from tests.backends.serving.small_server import CLOSED, FULL, Server, serving
from tests.examples import slow_but
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run
from tests.zoo.sources.videos import write_video
from zoo.errors import BackendUnavailableError, InputError
from zoo.manifest import Manifest

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
@pytest.mark.parametrize(("page", "words"), [(FULL, "Exceeds maximum queue size"), (CLOSED, "does not answer")])
def test_a_server_that_is_full_or_closes_the_connection_is_asked_again(
    server: Server, files: list[Path], monkeypatch: pytest.MonkeyPatch, page: tuple[int, bytes], words: str
) -> None:
    monkeypatch.setattr(remote_model, "WAITS", (0.0, 0.0))
    infer = RemoteModel._infer

    def infer_and_fill(remote: RemoteModel, *arguments: object) -> object:
        answer = infer(remote, *arguments)
        server.pages = [page] * 2
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(RemoteModel, "_infer", infer_and_fill)
        remote = RemoteModel(server.address)  # which asks for the outputs as well
    assert not server.pages
    with remote:
        server.pages = [page] * 2
        (prediction,) = remote.stream(files[0])
        assert prediction.fault is None
        server.pages = [page] * 3
        with pytest.raises(BackendUnavailableError, match=words):
            list(remote.stream(files[0]))


NGINX = b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<hr>nginx/1.28.0\r\n</html>\r\n"
one_server = pytest.mark.parametrize("served", ["detector"], indirect=True)


@needs_client
@one_server
@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ((413, NGINX), "refuses it with 413 (413 Request Entity Too Large nginx/1.28.0); send another file"),
        ((422, b'{"detail": "no"}'), 'refuses it with 422 ({"detail": "no"}); send another file'),
        ((408, error_body("too slow")), "refuses it with 408 (too slow); send another file"),
    ],
)
def test_one_refused_request_does_not_end_the_run(
    server: Server, predict: Predict, files: list[Path], page: tuple[int, bytes], fault: str
) -> None:
    send, sent = server.model.execute, []

    def execute_and_refuse_the_second(requests: list[Any]) -> Any:
        sent.append(requests)
        server.pages = [page] if len(sent) == 2 else []  # after the question for the manifest and the first file
        return send(requests)

    server.model.execute = execute_and_refuse_the_second
    run = predict([server.address, *map(str, files[:3])])
    assert (run.code, run.err.count("\n")) == (6, 2)
    assert f"{files[1]}: the server {fault}" in run.err
    assert run.out.count(".png: ") == 2


@needs_client
@one_server
@pytest.mark.parametrize("status", [429, 500, 502, 504])
def test_a_failing_server_is_asked_again_and_quoted(
    server: Server, files: list[Path], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(remote_model, "WAITS", (0.0, 0.0))
    page = (status, json.dumps({"error": "the stub\nis not healthy"}).encode())
    with RemoteModel(server.address) as remote:
        server.pages = [page] * 2
        (prediction,) = remote.stream(files[0])
        assert prediction.fault is None
        server.pages = [page] * 3
        with pytest.raises(
            BackendUnavailableError, match=rf"answers {status} \(the stub is not healthy\); see its log"
        ):
            list(remote.stream(files[0]))


def answer_of(*shape: int, content: bytes, datatype: str = "UINT8") -> bytes:
    tensor = {"name": DEPLOYMENT, "shape": shape, "datatype": datatype, "data": list(content)}
    return json.dumps({"model_name": "cars", "outputs": [tensor]}).encode()


@needs_client
@one_server
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the answer is none of zooport's (JSONDecodeError: "),
        (b"<html></html>", "the answer is none of zooport's (JSONDecodeError: "),
        (b"[" * 100_000, "the answer is none of zooport's (RecursionError: "),
        (b"[1]", "the answer is none of zooport's (AttributeError: "),
        (b'{"model_name": "cars"}', f'output "{DEPLOYMENT}" is missing, or its shape is not [1, ...]'),
        (b'{"outputs": [{}]}', "(KeyError: 'name')"),
        (answer_of(0, content=b""), "its shape is not [1, ...]"),
        (answer_of(2, 1, content=b"{}"), "its shape is not [1, ...]"),
        (answer_of(1, 3, content=b"{}"), "(ValueError: cannot reshape"),
        (answer_of(1, 2, content=b"{}", datatype="UINT9"), f"its output {DEPLOYMENT}: not a JSON file"),
        (answer_of(1, 1, content=b"{"), f"its output {DEPLOYMENT}: not a JSON file"),
        (answer_of(1, 2, content=b"[]"), f"its output {DEPLOYMENT}: got a JSON list, expected an object"),
        (answer_of(1, 2, content=b"{}"), "schema_version is None"),
    ],
)
def test_the_answer_of_another_server_is_one_line(
    server: Server, predict: Predict, files: list[Path], body: bytes, message: str
) -> None:
    server.pages = [(200, body)]
    run = predict([server.address, str(files[0])])
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert server.address in run.err
    assert message in run.err


@needs_client
@pytest.mark.parametrize("served", [ADJUSTABLE], indirect=True)
@pytest.mark.parametrize(
    ("dtype", "number", "words"),
    [
        ("int64", "2.5", "is 2.5, expected an integer, 1 or more"),
        ("int64", "1e30", "is too large for int64; give a smaller number"),
        ("int64", "inf", "is inf, expected a number"),
        ("float32", "nan", "is nan, expected a number"),
        ("float32", "1e39", "is too large for float32; give a smaller number"),
    ],
)
def test_a_number_that_does_not_fit_its_input_is_not_sent(
    server: Server,
    deployments: dict[str, Path],
    predict: Predict,
    files: list[Path],
    dtype: str,
    number: str,
    words: str,
) -> None:
    manifest = Manifest.read(deployments[ADJUSTABLE])
    inputs = [spec._replace(dtype=dtype) if spec.name == "score_threshold" else spec for spec in manifest.inputs]
    content = manifest_content(replace(manifest, inputs=tuple(inputs)))
    server.pages = [(200, answer_of(1, len(content), content=content))]
    run = predict([server.address, str(files[0]), "--input", f"score_threshold={number}"])
    assert (run.code, run.err) == (2, f'error: {server.address}: input "score_threshold" {words}\n')


@needs_client
@pytest.mark.parametrize("served", [ADJUSTABLE], indirect=True)
def test_a_number_is_sent_as_a_local_deployment_takes_it(
    server: Server, deployments: dict[str, Path], files: list[Path]
) -> None:
    with load(deployments[ADJUSTABLE], threads=1) as local, RemoteModel(server.address) as remote:
        ours, theirs = (next(model.stream(files[-1], score_threshold=0.5)).result for model in (local, remote))
        assert theirs == ours != next(local.stream(files[-1])).result


@needs_client
@one_server
@pytest.mark.parametrize("metadata", [{}, {"outputs": 3}, {"outputs": ["boxes"]}, {"outputs": [{}]}, []])
def test_the_metadata_of_another_server_is_one_line(
    server: Server, predict: Predict, files: list[Path], metadata: object
) -> None:
    send = server.model.execute

    def execute_and_describe(requests: list[Any]) -> Any:
        server.pages = [(200, json.dumps(metadata).encode())]
        return send(requests)

    server.model.execute = execute_and_describe
    run = predict([server.address, str(files[0])])
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "the answer is none of zooport's" in run.err


@needs_client
@one_server
def test_other_outputs_than_those_of_the_task_are_the_images_fault(server: Server, files: list[Path]) -> None:
    server.outputs = ["boxes"]
    with RemoteModel(server.address) as remote:
        (prediction,) = remote.stream(files[0])
    assert str(prediction.fault).startswith(f"{files[0]}: {server.address}: the answer is none of zooport's")


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


@needs_client
def test_a_refused_certificate_is_no_answer(
    predict: Predict, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's error is a ValueError as well."""

    def refuse(_: RemoteModel) -> None:
        raise ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate")

    monkeypatch.setattr(RemoteModel, "_client", refuse)
    run = predict(["https://localhost:1/cars", str(files[0])])
    assert (run.code, run.err.count("\n")) == (4, 1)
    assert "the server does not answer (" in run.err
    assert "certificate verify failed: self-signed certificate); start it, or try again later" in run.err


@pytest.mark.parametrize("address", ["http://", "http://host:8000", "http://host:8000/", "https://me:secret@host/cars"])
def test_what_is_no_address(address: str, predict: Predict, files: list[Path]) -> None:
    run = predict([address, str(files[0])])
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "expected the address of a model, for example http://localhost:8000/cars" in run.err
    assert "secret" not in run.err


def test_addresses() -> None:
    assert parse_address("http://host:8000/cars") == (False, "host:8000", "cars")
    assert parse_address("https://host/some/path/cars/") == (True, "host/some/path", "cars")


@needs_client
@pytest.mark.parametrize("workers", [None, 1])
def test_after_it_is_closed_a_call_says_so(server: Server, files: list[Path], workers: int | None) -> None:
    model = RemoteModel(server.address, workers)
    model.close()
    with pytest.raises(InputError, match="the model is closed; load the deployment again"):
        list(model.stream(files[:1]))


def test_a_device_is_the_servers_business(predict: Predict, files: list[Path]) -> None:
    run = predict(["http://localhost:1/cars", str(files[0]), "--device", "cpu"])
    assert (run.code, "the server chooses the device" in run.err) == (2, True)


def test_without_the_client_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tritonclient", "tritonclient.http"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BackendUnavailableError, match=r'pip install "zooport\[serve\]"'):
        RemoteModel("http://localhost:1/cars")


@needs_client
def test_a_model_that_cannot_be_opened_leaves_no_connection(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """An open one holds up the end of the server."""
    opened: list[RemoteModel] = []
    release = RemoteModel._release

    def released(model: RemoteModel) -> None:
        opened.append(model)
        release(model)

    monkeypatch.setattr(RemoteModel, "_release", released)
    with pytest.raises(InputError, match="no such model"):
        RemoteModel(f"http://127.0.0.1:{server.server_address[1]}/nothing")
    assert [model._clients for model in opened] == [[]]
