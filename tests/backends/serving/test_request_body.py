"""The body of a request over a real socket: whole, too large, and one that does not come."""

import http.client
import socket
import threading
from collections.abc import Iterator

import pytest

for library in ("fastapi", "uvicorn"):
    pytest.importorskip(library, reason="the extra ray-serve brings it")

import uvicorn  # noqa: E402 - it may be missing
from fastapi import FastAPI, Request, Response  # noqa: E402

from backends.serving.request_body import MAX_BODY, LateBodyError, read_body  # noqa: E402
from zoo.errors import InputError  # noqa: E402

BAD, LATE = 400, 408


async def echo(request: Request, seconds: float = 0.2) -> Response:
    try:
        return Response(await read_body(request, seconds))
    except LateBodyError as error:
        return Response(str(error), LATE)
    except InputError as error:
        return Response(str(error), BAD)


@pytest.fixture
def port() -> Iterator[int]:
    app = FastAPI()
    app.add_api_route("/", echo, methods=["POST"])
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def answer(connection: http.client.HTTPConnection) -> tuple[int, bytes]:
    response = connection.getresponse()
    return response.status, response.read()


def test_a_body_that_does_not_come_is_408_and_others_are_answered(port: int) -> None:
    late, good = (http.client.HTTPConnection("127.0.0.1", port, timeout=30) for _ in range(2))
    late.putrequest("POST", "/")
    late.putheader("Content-Length", "10")
    late.endheaders(b"abc")
    good.request("POST", "/", b"abc")
    assert answer(good) == (200, b"abc")
    status, message = answer(late)
    assert status == LATE
    assert message.startswith(b"the request: 3 bytes of its body after 0.2 s, expected all of it")
    for connection in (late, good):
        connection.close()


@pytest.mark.parametrize("headers", [{"Content-Length": str(MAX_BODY + 1)}, {"Content-Encoding": "gzip"}])
def test_what_is_refused_before_it_comes(port: int, headers: dict[str, str]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("POST", "/")
    for name, value in {"Content-Length": "10", **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert answer(connection)[0] == BAD
    connection.close()


def test_a_body_of_unknown_length_is_bounded_as_it_comes(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.serving.request_body.MAX_BODY", 8)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for parts, expected in (
        ([b"abcd", b"efgh"], (200, b"abcdefgh")),
        ([b"abcd", b"efghi"], (BAD, b"the request: more than 8 bytes; send a smaller file")),
    ):
        connection.request(
            "POST", "/?seconds=60", iter(parts), encode_chunked=True, headers={"Transfer-Encoding": "chunked"}
        )
        assert answer(connection) == expected
    connection.close()
