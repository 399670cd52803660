"""A deployment as an application of Ray Serve: replicas on the machines of a cluster, behind a bounded queue."""

from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from ray import serve

from backends.runtime_errors import OF_RUNTIME, reason
from backends.serving.one_thread import OneThread
from backends.serving.request_body import LateBodyError, read_body
from backends.serving.served_model import ServedModel, ServedModelSettings
from backends.serving.v2_http import BINARY, HEADER, JSON, error_body
from backends.serving.v2_schema import DESCRIBE, INFER
from zoo.errors import InputError

AT_ONCE = 2  # requests of a replica: one that is computed, one that arrives meanwhile
FIRST_WAIT, LONGEST_WAIT = 0.005, 0.05  # seconds until full replicas are asked again; in Ray's own 0.5 they idle
DRAIN = 30.0  # seconds for requests under way when a replica is stopped
PERIOD = 10.0  # seconds between two checks of a replica
BAD, ABSENT, LATE, UNCOMPUTED = 400, 404, 408, 422


@dataclass(frozen=True)
class Replicas:
    """``count``: processes, each with a model of its own, a CPU for each of its threads, and ``gpus``.

    ``queue``: requests that may wait for them at each machine that takes requests; further ones get 503. ``arrival``:
    seconds that the body of a request may take to arrive. ``patience``: seconds that one computation may take; a
    replica with a longer one is replaced.
    """

    count: int = 1
    gpus: float = 0
    queue: int = 64
    arrival: float = 60.0
    patience: float = 60.0


def _refusal(status: int, message: str) -> Response:
    return Response(error_body(message), status, media_type=JSON)


# Below what its routes use: Ray Serve copies them, and the names that they see, when it decorates the class.
routes = FastAPI(title="zooport", description="The Open Inference Protocol, version 2.")


@serve.ingress(routes)
class ModelReplica:
    """One process. It computes one request at a time, and receives the next one meanwhile."""

    def __init__(self, settings: ServedModelSettings, replicas: Replicas) -> None:
        self._model = ServedModel(settings)
        self._thread = OneThread()
        self._arrival, self._patience = replicas.arrival, replicas.patience

    async def check_health(self) -> None:
        """Ray Serve calls it, and replaces the replica if it raises three times in a row."""
        await self._thread.check(self._model.check, self._patience)

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
            body = await read_body(request, self._arrival)
            content, json_bytes = await self._thread.run(lambda: self._model.infer(body, request.headers.get(HEADER)))
        except LateBodyError as error:
            return _refusal(LATE, str(error))
        except InputError as error:
            return _refusal(BAD, str(error))
        except OF_RUNTIME as error:
            await self._thread.run(self._model.check)  # raises, which is 500, where nothing can be computed any more
            return _refusal(UNCOMPUTED, reason(error))
        if json_bytes is None:
            return Response(content, media_type=JSON)
        return Response(content, media_type=BINARY, headers={HEADER: str(json_bytes)})

    routes.add_api_route("/v2/models/{model}/infer", infer, methods=["POST"], openapi_extra=INFER)

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
        request_router_config={"initial_backoff_s": FIRST_WAIT, "max_backoff_s": LONGEST_WAIT},
        graceful_shutdown_timeout_s=DRAIN,
        health_check_period_s=PERIOD,
        health_check_timeout_s=(AT_ONCE + 1) * replicas.patience + PERIOD,  # it waits for the requests before it
        ray_actor_options={"num_cpus": settings.threads, "num_gpus": replicas.gpus},
    )
    return deployment.bind(settings, replicas)
