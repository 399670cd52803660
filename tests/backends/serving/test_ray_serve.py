"""`serve run zooport.serving:app` on a real Ray of this machine: results, refusals, a dead replica, the end."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from backends import load
from backends.scale.cluster import LOCAL
from backends.serving.protocol import FILE
from backends.serving.remote_model import RemoteModel
from backends.serving.v2_http import BINARY, HEADER, JSON
from backends.serving.v2_schema import METADATA
from tests.backends.serving.conftest import ADJUSTABLE
from tests.backends.serving.probes import health_check
from tests.backends.serving.real_server import free_ports
from tests.ray_cluster import listening_sockets
from zoo.errors import BackendUnavailableError
from zoo.input_kinds import MAX_BYTES

pytestmark = [pytest.mark.scale, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("ray.serve", reason="the extra ray-serve brings it", exc_type=ImportError)
ROOT = Path(__file__).parents[3]
QUEUE, ARRIVAL = 4, 5.0
HAPROXY = {"RAY_SERVE_ENABLE_HA_PROXY": "1", "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1"}
HAPROXY_PORTS = ("RAY_SERVE_HAPROXY_METRICS_PORT", "RAY_SERVE_HAPROXY_STATS_PORT")
EVERYWHERE = "0.0.0.0"
Answer = tuple[int, bytes]


@dataclass(frozen=True)
class Server:
    """`name`: of the model, which no other test of this machine uses. `haproxy_ports`: of HAProxy, if it runs."""

    process: "subprocess.Popen[bytes]"
    name: str
    port: int
    haproxy_ports: tuple[int, ...]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.name}"

    def ask(self, path: str, body: bytes | None = None, json_bytes: int | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        if json_bytes is not None:
            headers[HEADER] = str(json_bytes)
        connection.request("GET" if body is None else "POST", path, body, headers)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def infer(self, content: bytes) -> Answer:
        tensor = {
            "name": FILE,
            "shape": [1, len(content)],
            "datatype": "UINT8",
            "parameters": {"binary_data_size": len(content)},
        }
        head = json.dumps({"inputs": [tensor]}).encode()
        return self.ask(f"/v2/models/{self.name}/infer", head + content, len(head))

    def is_ready(self) -> bool:
        try:
            return self.ask("/v2/health/ready")[0] == 200
        except OSError:
            return False

    def replica(self) -> int:
        """The process of the replica; 0 if there is none."""
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if line.read_bytes().startswith(f"ray::ServeReplica:default:{self.name}".encode()):
                    return int(line.parent.name)
        return 0


@pytest.fixture(params=[False, True], ids=["own proxy", "HAProxy"])
def server(
    deployments: dict[str, Path], files: list[Path], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Server]:
    port, *haproxy_ports = free_ports(1 + len(HAPROXY_PORTS) * request.param)
    name = f"cars-{port}"
    arguments = {"deployment": str(deployments[ADJUSTABLE]), "image": str(files[0]), "name": name}
    arguments |= {"queue": QUEUE, "arrival": ARRIVAL}
    config = {
        "http_options": {"host": "127.0.0.1", "port": port},
        "applications": [{"name": "default", "import_path": "zooport.serving:app", "args": arguments}],
    }
    path, log = tmp_path / "serve.yaml", tmp_path / "log"
    path.write_text(json.dumps(config))
    command = [str(Path(sys.executable).with_name("serve")), "run", "--address", "local", str(path)]
    patience = {"RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60"}  # of Ray: by itself 5 s, too few on a busy machine
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0", **LOCAL, **patience}
    if haproxy_ports:
        environment |= HAPROXY | dict(zip(HAPROXY_PORTS, map(str, haproxy_ports), strict=True))
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, env=environment) as process:
        served = Server(process, name, port, tuple(haproxy_ports))
        try:
            while not served.is_ready():
                assert process.poll() is None, log.read_text(errors="replace")
                time.sleep(0.5)
            yield served
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def test_the_whole_life_of_a_server(server: Server, deployments: dict[str, Path], files: list[Path]) -> None:
    """One server, because a start takes long."""
    check_results(server, deployments[ADJUSTABLE], files)
    check_bad_requests(server)
    check_bodies_that_do_not_come(server, files[0].read_bytes())
    check_a_flood(server, files[-1].read_bytes())
    check_a_dead_replica(server, files[0].read_bytes())
    check_the_end(server, files[0].read_bytes())


def test_what_the_runtime_cannot_compute_is_a_fault_of_that_request(
    deployments: dict[str, Path], files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica without Ray: nothing makes one of a server run out of memory for one request alone."""
    from starlette.requests import Request

    from backends.serving.ray_serve import ModelReplica, Replicas
    from backends.serving.served_model import ServedModel, ServedModelSettings

    replica = object.__new__(ModelReplica)
    settings = ServedModelSettings("cars", deployments["detector"], files[0].read_bytes())
    ModelReplica.__mro__[1].__init__(replica, settings, Replicas())

    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ServedModel, "infer", no_memory)

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"{}"}

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    response = asyncio.run(replica.infer("cars", request))
    assert response.status_code == 422
    assert json.loads(response.body) == {"error": "there is not enough memory for it"}


def check_results(server: Server, deployment: Path, files: list[Path]) -> None:
    with load(deployment, threads=1) as local, RemoteModel(server.address, workers=QUEUE) as remote:
        for settings in ({}, {"score_threshold": 0.5}):
            expected = [local(local.task.kind.read(path), **settings) for path in files]
            for prediction, result in zip(remote.stream(files, **settings), expected, strict=True):
                assert prediction.result == result
    status, page = server.ask("/openapi.json")
    assert status == 200
    infer = json.loads(page)["paths"]["/v2/models/{model}/infer"]["post"]
    assert set(infer["requestBody"]["content"]) == {JSON, BINARY}
    assert {"200", "400", "404", "503"} <= set(infer["responses"])
    status, metadata = server.ask(f"/v2/models/{server.name}")
    assert status == 200
    Draft202012Validator(METADATA).validate(json.loads(metadata))
    assert json.loads(metadata)["name"] == server.name
    sockets = listening_sockets(server.process.pid)
    # each replica opens one gRPC port on all interfaces, and HAProxy its two, whatever the settings
    assert {address for address, _ in sockets} - {EVERYWHERE} == {"127.0.0.1", "::"}
    assert {port for address, port in sockets if address == EVERYWHERE} == set(server.haproxy_ports)
    assert ("127.0.0.1", server.port) in sockets


def check_bad_requests(server: Server) -> None:
    infer = f"/v2/models/{server.name}/infer"
    for body, headers in (
        (b"", {}),
        (b"{", {}),
        (b"[]", {}),
        (b"{}", {HEADER: "9"}),
        (b"{}", {"Content-Encoding": "gzip"}),
        (bytes(MAX_BYTES + 2**21), {}),
    ):
        status, answer = server.ask(infer, body, **headers)
        assert status == 400
        assert "\n" not in json.loads(answer)["error"]
    for content in (b"", b"no image", b"\x89PNG\r\n"):
        status, answer = server.infer(content)
        assert status == 400
        assert "image" in json.loads(answer)["error"]
    for path in ("/v2/models/none", "/v2/models/none/ready"):
        assert server.ask(path)[0] == 404
    assert server.ask("/v2/models/none/infer", b"{}")[0] == 404
    assert server.is_ready()


def check_bodies_that_do_not_come(server: Server, content: bytes) -> None:
    """As many as a replica takes at once: each is 408, and does not hold up the others for longer than `arrival`."""
    from backends.serving.ray_serve import AT_ONCE

    expected = server.infer(content)
    late = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=60) for _ in range(AT_ONCE)]
    for connection in late:
        connection.putrequest("POST", f"/v2/models/{server.name}/infer")
        connection.putheader("Content-Length", "10")
        connection.endheaders()
    assert server.infer(content) == expected
    for connection in late:
        response = connection.getresponse()
        assert response.status == 408
        assert json.loads(response.read())["error"].startswith("the request: 0 bytes of its body after 5 s")
        connection.close()


def check_a_flood(server: Server, content: bytes) -> None:
    """Ten times as many clients as the queue has room for. What is not answered is 503, and nothing else."""
    expected = server.infer(content)
    assert expected[0] == 200
    with ThreadPoolExecutor(10 * QUEUE) as pool:
        asked = pool.map(lambda _: server.infer(content), range(100 * QUEUE))
        check_the_probe(server)
        answers = list(asked)
    statuses = Counter(status for status, _ in answers)
    assert set(statuses) == {200, 503}
    assert {answer for answer in answers if answer[0] == 200} == {expected}


def check_the_probe(server: Server) -> None:
    """That of ray-serve.Dockerfile."""
    program, *arguments, code = health_check("ray-serve")
    assert program == "python"
    command = [sys.executable, *arguments, code.replace(":8000/", f":{server.port}/")]
    for _ in range(5):
        subprocess.run(command, check=True)


def check_a_dead_replica(server: Server, content: bytes) -> None:
    """It is replaced. Until then a request waits or is refused, and is never answered wrongly."""
    expected = server.infer(content)
    first = server.replica()
    replaced = threading.Event()

    def infer() -> Answer | None:
        try:
            answer = server.infer(content)
        except http.client.RemoteDisconnected:
            assert server.haproxy_ports  # Ray's own proxy always answers
            return None
        assert answer == expected or answer[0] in (500, 503)
        return answer

    def ask() -> set[int]:
        statuses = set()
        while not replaced.is_set():
            if answer := infer():
                statuses.add(answer[0])
        return statuses

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(ask) for _ in range(4)]
        time.sleep(0.5)
        os.kill(first, signal.SIGKILL)
        while server.replica() in (0, first) or infer() != expected:
            time.sleep(0.1)
        replaced.set()
        assert 200 in set.union(*(client.result() for client in clients))


def check_the_end(server: Server, content: bytes) -> None:
    """SIGINT: requests under way are answered. Later ones find no server."""
    expected = server.infer(content)
    begun = threading.Barrier(3)

    def ask() -> Counter[int]:
        statuses = Counter[int]()
        begun.wait()
        with suppress(OSError, http.client.HTTPException):
            while True:
                answer = server.infer(content)
                statuses[answer[0]] += 1
                assert answer == expected or answer[0] != 200
        return statuses

    with ThreadPoolExecutor(2) as pool:
        clients = [pool.submit(ask) for _ in range(2)]
        begun.wait()
        time.sleep(1)
        server.process.send_signal(signal.SIGINT)
        counts = [client.result() for client in clients]
    assert all(count[200] for count in counts)
    assert server.process.wait() in (0, 1)  # 1: Ctrl-C came between two of its waits
    with pytest.raises(BackendUnavailableError), RemoteModel(server.address):
        pass
