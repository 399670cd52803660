"""What zooport triton writes, in NVIDIA's own server: right, corrupt and too many requests, a dead stub, the end."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from backends import load
from backends.serving.protocol import DEPLOYMENT, FILE
from backends.serving.remote_model import RemoteModel
from tests.backends.serving.conftest import ADJUSTABLE, ALONE, BATCH, ENSEMBLES, OUTPUTS
from tests.backends.serving.probes import probe
from tests.backends.serving.real_server import NEEDS_SERVER, Triton, running_server
from tests.ray_cluster import listening_addresses
from zoo.errors import BackendUnavailableError, InputError
from zoo.tasks import Result
from zooport.verbs import run_verb

pytestmark = NEEDS_SERVER


@pytest.fixture
def triton(repository: Path, tmp_path: Path) -> Iterator[Triton]:
    with running_server(repository, tmp_path) as server:
        yield server


def stubs(server: Triton, name: str) -> list[int]:
    """The processes in which a model runs."""
    children = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            _, _, rest = (folder / "stat").read_text().partition(") ")
            if int(rest.split()[1]) == server.process.pid and f"/{name}/1/" in (folder / "cmdline").read_text():
                children.append(int(folder.name))
    return children


class Protocol(NamedTuple):
    """A way to the server: a module of tritonclient, a port, and the statuses of a refusal."""

    client: ModuleType
    port: int
    bad: str
    full: str

    def infer(self, name: str, *contents: bytes) -> dict[str, np.ndarray]:
        """The outputs for a request of these files. Raises InferenceServerException."""
        batch = np.array([np.frombuffer(content, np.uint8) for content in contents])
        tensor = self.client.InferInput(FILE, batch.shape, "UINT8")
        tensor.set_data_from_numpy(batch)
        outputs = [self.client.InferRequestedOutput(output) for output in OUTPUTS[name]]
        with self.client.InferenceServerClient(f"127.0.0.1:{self.port}") as opened:
            answer = opened.infer(name, [tensor], outputs=outputs)
            return {output: answer.as_numpy(output) for output in OUTPUTS[name]}

    def outcome(self, name: str, content: bytes, expected: Result) -> str:
        """Whether the answer is right or wrong, or the status of a refusal."""
        try:
            return "right" if equal(self.infer(name, content), expected) else "wrong"
        except InferenceServerException as error:
            return str(error.status())

    def refusal(self, name: str, *contents: bytes) -> str:
        """The one line in which the server calls the request a bad one."""
        with pytest.raises(InferenceServerException) as refusal:
            self.infer(name, *contents)
        assert refusal.value.status() == self.bad
        assert "\n" not in refusal.value.message()
        return refusal.value.message()


def protocols(server: Triton) -> list[Protocol]:
    return [
        Protocol(tritonclient.http, server.http, "400", "503"),
        Protocol(tritonclient.grpc, server.grpc, "StatusCode.INVALID_ARGUMENT", "StatusCode.UNAVAILABLE"),
    ]


def equal(answer: dict[str, np.ndarray], expected: Result) -> bool:
    """Whether they are equal to the bit, but for the batch axis of the answer."""
    arrays = {name: array[0] for name, array in answer.items()}
    return expected == type(expected).of_arrays(arrays)


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
        for protocol in protocols(triton):
            check_protocol(protocol, name, files, expected)
    assert triton.get("/v2/health/ready")[0] == 200
    assert triton.count("nv_inference_count", name) >= 9 * len(files)
    triton.process.send_signal(signal.SIGTERM)
    assert triton.process.wait() == 0
    assert b"Traceback" not in triton.log.read_bytes()


def check_protocol(protocol: Protocol, name: str, files: list[Path], expected: list[Result]) -> None:
    """Concurrent requests, and bad ones: empty, no image, half an image, two files."""
    contents = [path.read_bytes() for path in files]
    check_concurrent(protocol, name, contents * 4, expected * 4)
    for content in (b"", b"no image", b"\x89PNG\r\n", contents[0][: len(contents[0]) // 2]):
        assert "image" in protocol.refusal(name, content)
    protocol.refusal(name, contents[0], contents[0])


def check_concurrent(protocol: Protocol, name: str, contents: list[bytes], expected: list[Result]) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda content: protocol.infer(name, content), contents)
        assert all(equal(answer, result) for answer, result in zip(answers, expected, strict=True))


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
        # 1: it stopped waiting for the connections. Triton 2.51 then ends beside its own threads, and may crash there.
        assert triton.process.wait() in (0, 1, -signal.SIGSEGV)


@pytest.mark.parametrize("name", ["slide", *ALONE])
def test_too_many_requests_are_refused_and_none_is_wrong(
    triton: Triton, deployments: dict[str, Path], files: list[Path], name: str
) -> None:
    """The queue has room for 8, with batches and without. What is not answered is 503, and the probe finds it alive."""
    content = files[0].read_bytes()
    with load(deployments[name], threads=1) as local:
        expected = local(local.task.kind.read(files[0]))
    for protocol in protocols(triton):
        outcomes: set[str] = set()
        while protocol.full not in outcomes:
            with ThreadPoolExecutor(96) as pool:
                asked = [pool.submit(protocol.outcome, name, content, expected) for _ in range(384)]
                result = probe(triton.address(name), files[0])
                outcomes |= {each.result() for each in asked}
            assert (result.returncode, result.stderr) == (0, "")
        assert outcomes == {"right", protocol.full}


def test_concurrent_requests_share_a_batch(deployments: dict[str, Path], files: list[Path], tmp_path: Path) -> None:
    """Those of a Python model, and of the graph of an ensemble: Triton counts fewer executions than inferences."""
    models = tmp_path / "models"
    flags = ["--image", str(files[0]), "--out", str(models), "--instances", "1", "--batch", str(BATCH)]
    flags += ["--delay", "1000000"]
    for name, form in (("detector", []), ("segmentor", ["--ensemble"])):
        assert run_verb(["triton", str(deployments[name]), "--name", name, *flags, *form]) == 0
    with running_server(models, tmp_path) as triton:
        for name in ("detector", "segmentor"):
            with load(deployments[name], threads=1) as local:
                expected = local(local.task.kind.read(files[0]))
            check_concurrent(protocols(triton)[0], name, [files[0].read_bytes()] * 4 * BATCH, [expected] * 4 * BATCH)
        for name in ("detector", "segmentor-graph"):
            assert triton.count("nv_inference_exec_count", name) < triton.count("nv_inference_count", name)


def test_a_dead_process_of_two(
    repository: Path, deployments: dict[str, Path], files: list[Path], tmp_path: Path
) -> None:
    """The other one answers. The probe finds the dead one, and readiness does not. SIGTERM waits for it in vain."""
    content = files[0].read_bytes()
    with load(deployments["detector"], threads=1) as local:
        expected = local(local.task.kind.read(files[0]))
    with running_server(repository, tmp_path, patience=5) as triton:
        dead, alive = stubs(triton, "detector")
        os.kill(dead, signal.SIGKILL)
        for protocol, broken in zip(protocols(triton), ("500", "StatusCode.INTERNAL"), strict=True):
            assert {protocol.outcome("detector", content, expected) for _ in range(10)} == {"right", broken}
        assert {probe(triton.address("detector"), files[0]).returncode for _ in range(10)} == {0, 1}
        assert stubs(triton, "detector") == [alive]
        assert triton.get("/v2/health/ready")[0] == 200
        triton.process.send_signal(signal.SIGTERM)
        assert triton.process.wait() == 1
        assert b"Exit timeout expired" in triton.log.read_bytes()


def test_a_model_without_processes(triton: Triton, files: list[Path]) -> None:
    """The probe finds it, and readiness does not."""
    for stub in stubs(triton, "detector"):
        os.kill(stub, signal.SIGKILL)
    result = probe(triton.address("detector"), files[0])
    assert (result.returncode, result.stderr) == (1, f"{triton.address('detector')}: status 500\n")
    assert probe(triton.address("segmentor"), files[0]).returncode == 0
    assert triton.get("/v2/health/ready")[0] == 200


def test_an_ensemble(ensembles: Path, deployments: dict[str, Path], files: list[Path], tmp_path: Path) -> None:
    """Results, settings and metrics, with the graph in a stand-in for Triton's ONNX Runtime backend."""
    with running_server(ensembles, tmp_path) as triton:
        for name in ENSEMBLES:
            settings: list[dict[str, float]] = [{}, {"score_threshold": 0.5}] if name == ADJUSTABLE else [{}]
            with load(deployments[name], threads=1) as local, RemoteModel(triton.address(name), workers=8) as remote:
                for setting in settings:
                    expected = [local(local.task.kind.read(path), **setting) for path in files]
                    for prediction, result in zip(remote.stream(files, **setting), expected, strict=True):
                        assert prediction.result == result
                expected = [local(local.task.kind.read(path)) for path in files]
            for protocol in protocols(triton):
                check_protocol(protocol, name, files, expected)
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
