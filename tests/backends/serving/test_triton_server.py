"""What zooport triton writes, in NVIDIA's own server: right, corrupt and too many requests, a dead stub, the end."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from backends import load
from backends.serving.protocol import DEPLOYMENT, FILE
from backends.serving.remote_model import RemoteModel
from tests.backends.serving.conftest import ADJUSTABLE, ENSEMBLES, OUTPUTS
from tests.backends.serving.real_server import NEEDS_SERVER, Triton, running_server
from tests.ray_cluster import listening_addresses
from zoo.errors import BackendUnavailableError, InputError

pytestmark = NEEDS_SERVER


@pytest.fixture
def triton(repository: Path, tmp_path: Path) -> Iterator[Triton]:
    with running_server(repository, tmp_path) as server:
        yield server


def stubs(server: Triton) -> list[int]:
    """The processes in which the models run."""
    children = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = status.read_text().partition(") ")
        except OSError:
            continue
        if int(rest.split()[1]) == server.process.pid and "triton_python" in name:
            children.append(int(status.parent.name))
    return children


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_whole_life_of_a_server(triton: Triton, deployments: dict[str, Path], files: list[Path], name: str) -> None:
    """One server for each model, because a start takes long: results, bad requests, metrics, SIGTERM."""
    assert listening_addresses(triton.process.pid) == {"127.0.0.1"}
    with load(deployments[name], threads=1) as local, RemoteModel(triton.address(name), workers=8) as remote:
        expected = [local(local.task.kind.read(path)) for path in files]
        for prediction, result in zip(remote.stream(files), expected, strict=True):  # at once, so in batches as well
            assert prediction.result == result
        with ThreadPoolExecutor(8) as pool:
            for place, prediction in enumerate(pool.map(lambda path: next(remote.stream(path)), files * 8)):
                assert prediction.result == expected[place % len(files)]
        check_grpc(triton, name, files[-1], expected[-1].arrays)
        check_batched(triton, name, files[-1])
        check_bad(triton, name, remote)
    status, text = triton.get("/metrics", triton.metrics)
    counts = [line for line in text.splitlines() if line.startswith("nv_inference_count") and f'"{name}"' in line]
    assert status == 200
    assert float(counts[0].split()[-1]) >= 9 * len(files)
    triton.process.send_signal(signal.SIGTERM)
    assert triton.process.wait() == 0
    assert b"Traceback" not in triton.log.read_bytes()


def check_grpc(triton: Triton, name: str, path: Path, expected: dict[str, np.ndarray]) -> None:
    import tritonclient.grpc as client
    from tritonclient.utils import InferenceServerException

    content = np.frombuffer(path.read_bytes(), np.uint8)[np.newaxis]
    tensor = client.InferInput(FILE, content.shape, "UINT8")
    tensor.set_data_from_numpy(content)
    outputs = [client.InferRequestedOutput(key) for key in expected]
    with client.InferenceServerClient(f"127.0.0.1:{triton.grpc}") as opened:
        answer = opened.infer(name, [tensor], outputs=outputs)
        for key, array in expected.items():
            np.testing.assert_array_equal(answer.as_numpy(key)[0], array)
        tensor.set_data_from_numpy(np.zeros_like(content))
        with pytest.raises(InferenceServerException, match="not an image") as refusal:
            opened.infer(name, [tensor], outputs=outputs)
        assert refusal.value.status() == "StatusCode.INVALID_ARGUMENT"


def check_batched(triton: Triton, name: str, path: Path) -> None:
    """Two files in one request are refused, over HTTP and gRPC."""
    import tritonclient.grpc
    import tritonclient.http
    from tritonclient.utils import InferenceServerException

    content = np.frombuffer(path.read_bytes(), np.uint8)[np.newaxis].repeat(2, 0)
    for client, port, status in (
        (tritonclient.http, triton.http, "400"),
        (tritonclient.grpc, triton.grpc, "StatusCode.INVALID_ARGUMENT"),
    ):
        tensor = client.InferInput(FILE, content.shape, "UINT8")
        tensor.set_data_from_numpy(content)
        with client.InferenceServerClient(f"127.0.0.1:{port}") as opened:
            with pytest.raises(InferenceServerException) as refusal:
                opened.infer(name, [tensor])
            assert refusal.value.status() == status
            assert "\n" not in refusal.value.message()


def check_bad(triton: Triton, name: str, remote: RemoteModel) -> None:
    for content in (b"", b"no image", b"\x89PNG\r\n"):
        with pytest.raises(InputError, match="image"):
            remote._infer(content, OUTPUTS[name], {})
    assert triton.get("/v2/health/ready")[0] == 200


def test_sigterm_while_requests_come(
    repository: Path, deployments: dict[str, Path], files: list[Path], tmp_path: Path
) -> None:
    """Clients that keep their connections are answered until the exit timeout; no answer is wrong or cut off."""
    with load(deployments["detector"], threads=1) as local:
        expected = local(local.task.kind.read(files[-1]))
    begun = threading.Barrier(5)

    def ask(remote: RemoteModel) -> int:
        answers = 0
        with suppress(BackendUnavailableError):
            while True:
                assert next(remote.stream(files[-1])).result == expected
                answers += 1
                if answers == 1:
                    begun.wait()
        return answers

    with (
        running_server(repository, tmp_path, patience=8) as triton,
        RemoteModel(triton.address("detector")) as remote,
        ThreadPoolExecutor(4) as pool,
    ):
        clients = [pool.submit(ask, remote) for _ in range(4)]
        begun.wait()
        triton.process.send_signal(signal.SIGTERM)
        assert all(client.result() > 1 for client in clients)
        assert triton.process.wait() in (0, 1)  # 1: it stopped waiting for the connections


def test_too_many_requests_are_refused_and_none_is_wrong(
    triton: Triton, deployments: dict[str, Path], files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue has room for 8. What is not answered is 503, and nothing else."""
    monkeypatch.setattr("backends.serving.remote_model.WAITS", ())
    refused = answered = 0
    with load(deployments["slide"], threads=1) as local, RemoteModel(triton.address("slide")) as remote:
        expected = local(local.task.kind.read(files[0]))

        def ask(_: int) -> object:
            try:
                return next(remote.stream(files[0])).result
            except BackendUnavailableError as error:
                return str(error)

        with ThreadPoolExecutor(96) as pool:
            for answer in pool.map(ask, range(384)):
                if isinstance(answer, str):
                    assert "queue" in answer
                    refused += 1
                else:
                    assert answer == expected
                    answered += 1
    assert answered
    assert answered + refused == 384


def test_a_dead_stub_is_found_by_a_probe_that_infers_and_not_by_readiness(triton: Triton, files: list[Path]) -> None:
    before = stubs(triton)
    assert len(before) == 2 * len(OUTPUTS)
    for stub in before:
        os.kill(stub, signal.SIGKILL)

    def probe() -> None:
        """As that of docs/serving.md; again until the server has seen it."""
        while True:
            with RemoteModel(triton.address("detector")) as remote:
                next(remote.stream(files[0]))

    with pytest.raises(BackendUnavailableError, match="does not answer"):
        probe()
    assert triton.get("/v2/health/ready")[0] == 200


def test_an_ensemble(ensembles: Path, deployments: dict[str, Path], files: list[Path], tmp_path: Path) -> None:
    """Results, settings and metrics, with the graph in a stand-in for Triton's ONNX Runtime backend."""
    with running_server(ensembles, tmp_path) as triton:
        for name in ENSEMBLES:
            settings = {"score_threshold": 0.5} if name == ADJUSTABLE else {}
            with load(deployments[name], threads=1) as local, RemoteModel(triton.address(name), workers=8) as remote:
                expected = [local(local.task.kind.read(path), **settings) for path in files]
                for prediction, result in zip(remote.stream(files, **settings), expected, strict=True):
                    assert prediction.result == result
                check_batched(triton, name, files[-1])
                for path, prediction in zip(files, remote.stream(files), strict=True):  # with the default
                    assert prediction.result == local(local.task.kind.read(path))
        status, text = triton.get("/metrics", triton.metrics)
        assert status == 200
        assert 'nv_inference_request_success{model="detector-graph",version="1"}' in text


@pytest.mark.parametrize("asked", ["the arrays", "the manifest as well", "all, by naming none"])
def test_bad_requests_of_an_ensemble(ensembles: Path, files: list[Path], tmp_path: Path, asked: str) -> None:
    """Whatever they ask for, they are 400 and the server lives."""
    with running_server(ensembles, tmp_path) as triton, RemoteModel(triton.address("detector"), workers=8) as remote:
        outputs = {"the arrays": remote._outputs, "the manifest as well": [*remote._outputs, DEPLOYMENT]}.get(asked, [])

        def ask(content: bytes) -> str:
            try:
                remote._infer(content, outputs, {})
            except InputError as error:
                return str(error)
            return "answered"

        contents = (b"", b"no image", files[0].read_bytes()) * 100
        with ThreadPoolExecutor(8) as pool:
            for content, answer in zip(contents, pool.map(ask, contents), strict=True):
                assert answer == "answered" if len(content) > 10 else answer.startswith("image")
        assert triton.get("/v2/health/ready")[0] == 200
