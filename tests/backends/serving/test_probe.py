"""The probe of a container: a server that answers or is full is alive. What the real server does is in
test_triton_server.py."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from backends.serving.v2_http import error_body
from tests.backends.serving.conftest import OUTPUTS
from tests.backends.serving.probes import probe
from tests.backends.serving.small_server import serving

pytestmark = pytest.mark.parametrize("served", ["detector"], indirect=True)


def test_a_server_that_answers_is_alive(served: Any, files: list[Path]) -> None:
    name, model = served
    with serving(name, model, OUTPUTS[name]) as server:
        result = probe(server.address, files[0])
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_server_behind_a_path_is_asked_there(served: Any, files: list[Path]) -> None:
    name, model = served
    with serving(name, model, OUTPUTS[name], "/some/path") as server:
        results = [probe(address, files[0]) for address in (server.address, f"{server.address}/")]
    assert [(result.returncode, result.stderr) for result in results] == [(0, "")] * 2


def test_https_is_spoken_in_tls(served: Any, files: list[Path]) -> None:
    begun: list[bytes] = []

    def read_and_close() -> None:
        with listener.accept()[0] as connection:
            begun.append(connection.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=read_and_close)
        thread.start()
        result = probe(f"https://127.0.0.1:{listener.getsockname()[1]}/cars", files[0])
        thread.join()
    assert begun == [b"\x16"]  # of a handshake
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)


def test_a_server_that_is_full_is_alive(served: Any, files: list[Path]) -> None:
    name, model = served
    with serving(name, model, OUTPUTS[name]) as server:
        server.pages = [(503, error_body("Exceeds maximum queue size"))]
        result = probe(server.address, files[0])
        assert not server.pages
    assert (result.returncode, result.stderr) == (0, "")


def test_what_does_not_answer_the_image_is_one_line(served: Any, files: list[Path], tmp_path: Path) -> None:
    name, model = served
    (tmp_path / "bad.jpg").write_bytes(b"no image")
    with serving(name, model, OUTPUTS[name]) as server:
        address = server.address
        results = {
            "status 400": probe(address, tmp_path / "bad.jpg"),
            "status 404": probe(f"{address}s", files[0]),
            "No such file": probe(address, tmp_path / "none.jpg"),
        }
        server.pages = [(500, error_body("Stub process is not healthy."))]
        results["status 500"] = probe(address, files[0])
    results["refused"] = probe(address, files[0])
    for words, result in results.items():
        assert result.returncode == 1
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
