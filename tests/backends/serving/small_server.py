"""A server of the tests, and no other: just enough of the Open Inference Protocol for one model, in one process.

It runs the generated model in the stand-in for Triton's stub. The real server is in test_triton_server.py.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from backends.serving.v2_http import HEADER, error_body, parse_request, response_body
from tests.backends.serving.stub import Request

FULL = (503, error_body("Exceeds maximum queue size"))
CLOSED = (0, b"")


class Server(ThreadingHTTPServer):
    """``pages``: status and body of the next answers, CLOSED for none. ``model``: executes one batch at a time.

    ``prefix``: a path in front of the protocol's own, such as "/some/path".
    """

    def __init__(self, name: str, model: Any, outputs: Sequence[str], prefix: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.name, self.model, self.outputs, self.prefix = name, model, outputs, prefix
        self.pages: list[tuple[int, bytes]] = []
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.prefix}/{self.name}"

    @property
    def path(self) -> str:
        return f"{self.prefix}/v2/models/{self.name}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        if self.path != self.server.path:
            self.answer(404, error_body("no such path"))
            return
        with self.server.lock:
            if self.paged():
                return
        outputs = [{"name": name} for name in self.server.outputs]
        self.answer(200, json.dumps({"name": self.server.name, "outputs": outputs}).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != f"{self.server.path}/infer":
            self.answer(404, error_body("Request for unknown model: it is not found"))
            return
        with self.server.lock:
            if self.paged():
                return
            asked = parse_request(body, self.headers[HEADER])
            inputs = {name: array.copy() for name, array in asked.inputs.items()}
            (response,) = self.server.model.execute([Request(inputs, list(asked.outputs))])
        if response.error is not None:
            self.answer(400, error_body(str(response.error)))
        else:
            self.answer(200, *response_body(self.server.name, asked, response.arrays()))

    def paged(self) -> bool:
        """Whether a page was the answer."""
        if not self.server.pages:
            return False
        page = self.server.pages.pop(0)
        if page == CLOSED:
            self.close_connection = True
        else:
            self.answer(*page)
        return True

    def answer(self, status: int, body: bytes, json_bytes: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if json_bytes is not None:
            self.send_header(HEADER, str(json_bytes))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@contextmanager
def serving(name: str, model: Any, outputs: Sequence[str], prefix: str = "") -> Iterator[Server]:
    with Server(name, model, outputs, prefix) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
