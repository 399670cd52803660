"""A deployment as an application of Ray Serve: replicas on the machines of a cluster, behind a bounded queue."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from ray import serve

from backends.serving.served_model import ServedModel, ServedModelSettings
from backends.serving.v2_http import BINARY, HEADER, JSON, error_body
from backends.serving.v2_schema import DESCRIBE, INFER
from zoo.errors import InputError
from zoo.input_kinds import MAX_BYTES

MAX_BODY = MAX_BYTES + 2**20  # a file, and what describes it
AT_ONCE = 2  # requests of a replica: one that is computed, one that arrives meanwhile
DRAIN = 30.0  # seconds for requests under way when a replica is stopped
PERIOD, PATIENCE = 10.0, 60.0  # seconds between two checks of a replica, and for its answer
OK, BAD, ABSENT = 200, 400, 404
Returned = TypeVar("Returned")


@dataclass(frozen=True)
class Replicas:
    """``count``: processes, each with a model of its own, a CPU for each of its threads, and ``gpus``.

    ``queue``: requests that may wait for them at each machine that takes requests; further ones get 503.
    """

    count: int = 1
    gpus: float = 0
    queue: int = 64


async def _body(request: Request) -> bytes:
    """Raises InputError for one that is too large, before more of it is read."""
    if "Content-Encoding" in request.headers:
        raise InputError("Content-Encoding: expected a body that is not compressed")
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > MAX_BODY:
        raise InputError(f"the request: {length} bytes, expected at most {MAX_BODY}; send a smaller file")
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise InputError(f"the request: more than {MAX_BODY} bytes; send a smaller file")
        parts.append(part)
    return b"".join(parts)


def _refusal(status: int, message: str) -> Response:
    return Response(error_body(message), status, media_type=JSON)


# Below what its routes use: Ray Serve copies them, and the names that they see, when it decorates the class.
routes = FastAPI(title="zooport", description="The Open Inference Protocol, version 2.")


@serve.ingress(routes)
class ModelReplica:
    """One process. It computes one request at a time, and receives the next one meanwhile."""

    def __init__(self, settings: ServedModelSettings) -> None:
        self._model = ServedModel(settings)
        self._thread = ThreadPoolExecutor(1)

    async def check_health(self) -> None:
        """Ray Serve calls it, and replaces the replica if it raises or does not return in time."""
        await self._computed(self._model.check)

    async def server(self) -> Response:
        """The metadata of the server."""
        return JSONResponse({"name": "zooport", "version": "2", "extensions": ["binary_tensor_data"]})

    routes.add_api_route("/v2", server)

    async def health(self) -> Response:
        """A replica answers only after its first call."""
        return Response()

    routes.add_api_route("/v2/health/live", health)
    routes.add_api_route("/v2/health/ready", health)

    async def model(self, model: str) -> Response:
        """The metadata of the model."""
        return self._absent(model) or JSONResponse(self._model.describe())

    routes.add_api_route("/v2/models/{model}", model, openapi_extra=DESCRIBE)

    async def ready(self, model: str) -> Response:
        """Whether the model can be asked."""
        return self._absent(model) or Response()

    routes.add_api_route("/v2/models/{model}/ready", ready)

    async def infer(self, model: str, request: Request) -> Response:
        """The results for one image."""
        if (absent := self._absent(model)) is not None:
            return absent
        try:
            body = await _body(request)
            content, json_bytes = await self._computed(lambda: self._model.infer(body, request.headers.get(HEADER)))
        except InputError as error:
            return _refusal(BAD, str(error))
        if json_bytes is None:
            return Response(content, media_type=JSON)
        return Response(content, media_type=BINARY, headers={HEADER: str(json_bytes)})

    routes.add_api_route("/v2/models/{model}/infer", infer, methods=["POST"], openapi_extra=INFER)

    async def _computed(self, compute: Callable[[], Returned]) -> Returned:
        return await asyncio.get_running_loop().run_in_executor(self._thread, compute)

    def _absent(self, model: str) -> Response | None:
        return None if model == self._model.name else _refusal(ABSENT, f'unknown model "{model}"')


def application(settings: ServedModelSettings, replicas: Replicas) -> Any:
    """What `serve run` and `serve.run` take. The folder is read by each replica, on its own machine."""
    deployment: Any = serve.deployment(
        ModelReplica,
        name=settings.name,
        num_replicas=replicas.count,
        max_ongoing_requests=AT_ONCE,
        max_queued_requests=replicas.queue,
        graceful_shutdown_timeout_s=DRAIN,
        health_check_period_s=PERIOD,
        health_check_timeout_s=PATIENCE,
        ray_actor_options={"num_cpus": settings.threads, "num_gpus": replicas.gpus},
    )
    return deployment.bind(settings)
