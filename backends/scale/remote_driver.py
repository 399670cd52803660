"""Ray Data for a process that reaches the cluster by Ray's client: an actor of the cluster is its driver."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from backends.scale.refusal import Refusal, raise_refusal
from backends.scale.storage import EXTRA, USE
from zoo.errors import BackendUnavailableError, ZooportError
from zoo.optional_library import optional_library

REFUSED = "refused by the driver"
Rows = Iterator[dict[str, Any]]


def is_client() -> bool:
    """Whether this process is connected by Ray's client. Ray Data does not run in it."""
    return bool(optional_library("ray.util.client", EXTRA, USE).ray.is_connected())


def driven_remotely(ray: Any, run: Any, *arguments: Any) -> Rows:
    """The rows of the generator `run(ray, *arguments)`, which runs on an actor that takes no CPU.

    The actor ends with the generator. Raises ZooportError as `run` does; BackendUnavailableError if the actor, its
    machine or the connection is lost.
    """
    driver = ray.remote(num_cpus=0)(RemoteDriver).remote(run, arguments)
    try:
        while (row := ray.get(driver.next_row.remote())) is not None:
            raise_refusal(row.get(REFUSED, ""))
            yield row
    except (ray.exceptions.RayActorError, ConnectionError) as error:
        raise BackendUnavailableError(
            "the machine of the cluster that drove the run, or the connection to it, was lost; continue with --resume"
        ) from error
    finally:
        with suppress(ConnectionError):
            ray.kill(driver)


class RemoteDriver:
    """The actor."""

    def __init__(self, run: Any, arguments: Iterable[Any]) -> None:
        import ray

        self._rows: Rows = run(ray, *arguments)

    def next_row(self) -> dict[str, Any] | None:
        """None after the last one. An error of the user's comes as a row, because Ray would send its own traceback."""
        try:
            return next(self._rows, None)
        except ZooportError as error:
            return {REFUSED: Refusal(error).to_json()}
