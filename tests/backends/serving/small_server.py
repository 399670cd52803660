"""A server of the tests, and no other: just enough of the Open Inference Protocol for one model, in one process.

It runs the generated model in the stand-in for Triton's stub. The real server is in test_triton_server.py.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from backends.serving.protocol import DTYPES
from tests.backends.serving.stub import Request

NUMPY = {protocol: numpy for numpy, protocol in DTYPES.items()}
HEADER = "Inference-Header-Content-Length"


class Server(ThreadingHTTPServer):
    """``full``: how many requests are still refused with 503. ``model``: executes one batch at a time."""

    def __init__(self, name: str, model: Any, outputs: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.name, self.model, self.outputs = name, model, outputs
        self.full = 0
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{self.name}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        if self.path != f"/v2/models/{self.server.name}":
            self.answer(404, {"error": "no such path"})
            return
        with self.server.lock:
            if self.refused():
                return
        self.answer(200, {"name": self.server.name, "outputs": [{"name": name} for name in self.server.outputs]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != f"/v2/models/{self.server.name}/infer":
            self.answer(404, {"error": "Request for unknown model: it is not found"})
            return
        with self.server.lock:
            if self.refused():
                return
            (response,) = self.server.model.execute([request(body, int(self.headers[HEADER]))])
        if response.error is not None:
            self.answer(400, {"error": str(response.error)})
            return
        arrays = response.arrays()
        described = [
            {
                "name": name,
                "shape": list(array.shape),
                "datatype": DTYPES[array.dtype.name],
                "parameters": {"binary_data_size": array.nbytes},
            }
            for name, array in arrays.items()
        ]
        self.answer(200, {"outputs": described}, b"".join(array.tobytes() for array in arrays.values()))

    def refused(self) -> bool:
        """Whether the server is full."""
        if not self.server.full:
            return False
        self.server.full -= 1
        self.answer(503, {"error": "Exceeds maximum queue size"})
        return True

    def answer(self, status: int, content: dict[str, Any], binary: bytes = b"") -> None:
        head = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(head) + len(binary)))
        if binary:
            self.send_header(HEADER, str(len(head)))
        self.end_headers()
        self.wfile.write(head + binary)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


def request(body: bytes, head: int) -> Request:
    asked, binary = json.loads(body[:head]), body[head:]
    inputs = {}
    for tensor in asked["inputs"]:
        size = tensor["parameters"]["binary_data_size"]
        array = np.frombuffer(binary[:size], NUMPY[tensor["datatype"]]).reshape(tensor["shape"])
        inputs[tensor["name"]], binary = array.copy(), binary[size:]
    return Request(inputs, [output["name"] for output in asked["outputs"]])


@contextmanager
def serving(name: str, model: Any, outputs: Sequence[str]) -> Iterator[Server]:
    with Server(name, model, outputs) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
