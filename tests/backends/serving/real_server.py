"""NVIDIA's own server, from the wheel nvidia-pytriton, for tests.

The wheel asks for numpy 1 and is therefore not installed, but unpacked into a folder that ZOOPORT_TRITON names. make
test-all does both. It needs no GPU and no container, and the extra serve.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from backends.serving.triton_repository import start_command
from tests.backends.serving import graph_backend

VARIABLE = "ZOOPORT_TRITON"
BROKEN_OFF = "boost::interprocess::lock_exception"
ROOT = Path(__file__).parents[3]
NEEDS_SERVER = [
    pytest.mark.slow,
    pytest.mark.skipif(
        VARIABLE not in os.environ,
        reason=f"needs {VARIABLE}, the folder of an unpacked nvidia-pytriton; make test-all sets it",
    ),
]


@dataclass(frozen=True)
class Triton:
    process: "subprocess.Popen[bytes]"
    http: int
    grpc: int
    metrics: int
    log: Path

    def address(self, name: str) -> str:
        return f"http://127.0.0.1:{self.http}/{name}"

    def get(self, path: str, port: int | None = None) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port or self.http}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except urllib.error.URLError:
            return 0, ""

    def count(self, metric: str, model: str) -> float:
        """A number among the metrics."""
        _, text = self.get("/metrics", self.metrics)
        start = f'{metric}{{model="{model}",version="1"}} '
        (line,) = (line for line in text.splitlines() if line.startswith(start))
        return float(line.removeprefix(start))


def installed_server(place: Path) -> Path:
    """The server with the stub for this Python where the Python backend looks for it, and graph_backend."""
    wheel = Path(os.environ[VARIABLE]) / "pytriton" / "tritonserver"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = wheel / "python_backend_stubs" / version / "triton_python_backend_stub"
    backend = place / "backends" / "python"
    shutil.copytree(wheel / "backends" / "python", backend)
    for file in (stub, wheel / "bin" / "tritonserver"):
        file.chmod(0o755)
    shutil.copy(stub, backend)
    graphs = place / "backends" / "onnxruntime"
    graphs.mkdir()
    (graphs / "model.py").write_text(graph_backend.MODEL_PY, encoding="utf-8")
    return wheel / "bin" / "tritonserver"


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextmanager
def running_server(repository: Path, place: Path, patience: int = 600) -> Iterator[Triton]:
    """A server of its own, which is ready. `place`: a folder for its backends and its log.

    `patience`: seconds that a server which is stopped waits for its clients and its models.
    """
    binary = installed_server(place)
    http, grpc, metrics = free_ports(3)
    libraries = [str(Path(os.environ[VARIABLE]) / "nvidia_pytriton.libs"), sysconfig.get_config_var("LIBDIR")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *(path for path in sys.path if "site-packages" in path)]),
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
    }
    command = [str(binary), *start_command(repository)[1:], "--backend-directory", str(place / "backends")]
    command += ["--exit-timeout-secs", str(patience)]
    for name, port in (("http", http), ("grpc", grpc), ("metrics", metrics)):
        command += [f"--{name}-port", str(port)]
    log = place / "log"
    while True:
        with (
            log.open("wb") as output,
            subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True) as process,
        ):
            server = Triton(process, http, grpc, metrics, log)
            try:
                if has_started(server):
                    yield server
                    return
            finally:
                end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kills a server. Its models' processes then end, and clear their shared memory; one that does not is killed."""
    process.kill()
    process.wait()
    with suppress(ProcessLookupError):  # all of them have ended
        for _ in range(100):
            os.killpg(process.pid, 0)
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGKILL)


def has_started(server: Triton) -> bool:
    """Waits. False for a start that Triton 2.51 broke off by itself, as it can on a busy machine."""
    while server.get("/v2/health/ready")[0] != 200:
        if server.process.poll() is not None:
            log = server.log.read_text(errors="replace")
            assert BROKEN_OFF in log, log
            return False
        time.sleep(0.2)
    return True
