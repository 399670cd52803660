"""Blocks of work through a pool of Ray Data's actors."""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from queue import Empty, Full, Queue
from typing import Any

from backends.scale.attempts import BoundedWorker, attempts_of
from backends.scale.cluster import Actors, room_for
from backends.scale.remote_driver import driven_remotely, is_client
from backends.scale.storage import EXTRA, USE
from zoo.errors import BackendUnavailableError
from zoo.optional_library import optional_library

AT_ONCE = 2000
"""Blocks that Ray Data is given at a time: what it knows of each of them stays in the driver's memory."""
LOOK = 2.0  # seconds between two looks at the machines
PATIENCE = 60.0  # seconds that actors of a machine that was lost may wait for another one
IN_FLIGHT = 2  # blocks of an actor: one that it computes, one that waits for it
TRACES = "ray.data.exceptions"  # logs what the thread of an abandoned run raises, as pages of Ray's own code

Row = Mapping[str, Any]


def computed(
    ray: Any, worker: type, arguments: Sequence[Any], rows: Iterator[Row], actors: Actors
) -> Iterator[dict[str, Any]]:
    """A row for each row, in no order, as `worker(*arguments)` gives it; few of them are in memory at a time.

    The `name` of a row is unique, and what messages call it. An actor that dies is started again, and its rows are
    computed again; a row that ends its actor each time gives a row with only `refused`, see BoundedWorker. Raises
    BackendUnavailableError if a machine is lost, and some actors have no room any more.
    """
    remote = is_client()
    while wave := list(islice(rows, AT_ONCE)):
        if remote:
            yield from driven_remotely(ray, _wave, worker, arguments, wave, actors)
        else:
            yield from _wave(ray, worker, arguments, wave, actors)


def _wave(
    ray: Any, worker: type, arguments: Sequence[Any], rows: Sequence[Row], actors: Actors
) -> Iterator[dict[str, Any]]:
    data = optional_library("ray.data", EXTRA, USE)
    actors = actors._replace(size=min(actors.size, len(rows)))
    results = data.from_items(list(rows), override_num_blocks=len(rows)).map_batches(
        BoundedWorker,
        fn_constructor_args=[attempts_of(ray), worker, list(arguments)],
        batch_size=1,
        compute=data.ActorPoolStrategy(size=actors.size, max_tasks_in_flight_per_actor=IN_FLIGHT),
        num_cpus=actors.cpus,
        num_gpus=actors.gpus or None,
    )
    queue: Queue[tuple[dict[str, Any] | None, BaseException | None]] = Queue(IN_FLIGHT * actors.size)
    ended = threading.Event()

    def put(row: dict[str, Any] | None, error: BaseException | None = None) -> bool:
        """Whether somebody still wants rows."""
        while not ended.is_set():
            try:
                queue.put((row, error), timeout=LOOK)
            except Full:
                continue
            return True
        return False

    def run() -> None:
        try:
            if all(put(row) for row in results.iter_rows()):
                put(None)
        except BaseException as error:  # noqa: BLE001 - raised in the driver's own thread
            put(None, error)

    threading.Thread(target=run, name="zooport-ray", daemon=True).start()
    try:
        yield from _rows(ray, queue, actors, len(rows))
    finally:
        ended.set()


def _rows(
    ray: Any, queue: "Queue[tuple[dict[str, Any] | None, BaseException | None]]", actors: Actors, left: int
) -> Iterator[dict[str, Any]]:
    """Those that come out of the queue, until None does. `left`: how many will; actors that have none are ended."""
    lost = 0.0
    while True:
        try:
            row, error = queue.get(timeout=LOOK)
        except Empty:
            lost = lost + LOOK if _is_short(ray, actors._replace(size=min(actors.size, left))) else 0.0
            if lost >= PATIENCE:
                logging.getLogger(TRACES).disabled = True
                raise BackendUnavailableError(
                    f"a machine of the cluster was lost, and its actors have had no room for {PATIENCE:g} s; add one, "
                    "or give fewer --workers"
                ) from None
            continue
        if error is not None:
            raise error
        if row is None:
            return
        left -= 1
        yield row


def _is_short(ray: Any, actors: Actors) -> bool:
    """Whether the machines that are left cannot hold all actors."""
    return room_for(ray.nodes(), actors) < actors.size
