"""A model over sources: inputs are read ahead of being computed, and a fault in one of them stops nothing."""

import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from backends.pool import Pool
from backends.runtime_errors import OF_RUNTIME, reason, without_frames
from zoo.errors import ExportError, InputError
from zoo.sources import Item, read_ahead
from zoo.tasks import Result

AHEAD = 4
"""Inputs that are read while others are computed."""

TASK_SECONDS, MOST_FILES = 0.03, 8
"""A worker takes as many files at once as it reads and computes in this time."""

Run = Callable[[list[Item]], list[Result]]
"""The results of several items that have been read, in order."""

Works = Callable[[], bool]
"""Whether the model can compute an input that it has computed before, in this stream or another."""

Read = Callable[[Item], Item]
"""See zoo.sources.read_item."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """One input of a stream, and what the model found in it.

    `label`: what it is, for messages. `source`: the file, camera or address as it was named. `frame`: its number in a
    recording, from 0; None for a file. `value`: the input itself, for images uint8 [h, w, 3] BGR; None if it cannot be
    read. `fault`: one line that says why there is no result; None if there is a result.
    """

    item: Item = field(repr=False)
    fault: str | None = None
    computed: Result | None = None

    @property
    def label(self) -> str:
        """For messages."""
        return self.item.label

    @property
    def source(self) -> str:
        """The file, camera or address."""
        return self.item.source.label

    @property
    def frame(self) -> int | None:
        """The number in a recording."""
        return self.item.frame

    @property
    def value(self) -> Any:
        """The input itself."""
        return self.item.value

    @property
    def result(self) -> Result:
        """What the model found. Raises InputError with the fault, if there is one."""
        if self.computed is None:
            raise InputError(self.fault or f"{self.label}: no result")
        return self.computed

    def draw(self) -> NDArray[Any]:
        """The result drawn on its input. Raises as `result`."""
        return self.result.draw(self.value)


def predictions(
    run: Run, works: Works, items: Iterable[Item], *, group: int, ahead: int, begin: Callable[[Item], None]
) -> Generator[Prediction, None, None]:
    """A prediction for each item, in order; `group` of them are computed together, `begin` is called with the first."""
    reading = read_ahead(items, ahead)
    try:
        for chunk in _tasks(reading, group):
            begin(chunk[0])
            yield from _judged(_computed(run, chunk), works)
    finally:
        reading.close()


def pooled_predictions(
    pool: Pool, run: Run, works: Works, read: Read, items: Iterable[Item], *, group: int, ahead: int
) -> Generator[Prediction, None, None]:
    """As `predictions`: the workers of the pool read the items, and compute them.

    One thread lists the items and submits them as tasks: a group, or several groups of files of a quick model, because
    a task costs changes between threads that take as long as such a model. In memory are `ahead` + 2 tasks at most:
    those that wait, are read or computed, or are done and wait for their turn; the one that waits to be submitted; and
    that of the caller.
    """
    pending: deque[Future[list[Prediction | _Refused]]] = deque()
    files = 1  # that a task takes, by how long the last one took

    def task(chunk: list[Item]) -> list[Prediction | _Refused]:
        nonlocal files
        begin = time.perf_counter()
        groups = (chunk[place : place + group] for place in range(0, len(chunk), group))
        outcomes = [outcome for items in groups for outcome in _computed(run, [read(item) for item in items])]
        each = (time.perf_counter() - begin) / len(chunk)
        files = MOST_FILES if each * MOST_FILES <= TASK_SECONDS else max(1, int(TASK_SECONDS / each))
        return outcomes

    def submitted() -> Iterator[Future[list[Prediction | _Refused]]]:
        try:
            for chunk in _tasks(items, group, lambda: files):
                future = pool.submit(task, chunk)
                pending.append(future)
                yield future
        finally:
            if isinstance(items, Generator):
                items.close()

    ready = read_ahead(submitted(), ahead)
    try:
        for future in ready:
            yield from _judged(future.result(), works)
            pending.popleft()
            del future  # with its images, before the next ones come
    finally:
        ready.close()
        if not sys.is_finalizing():  # then the workers have ended
            wait([future for future in pending if not future.cancel()])


def _tasks(listed: Iterable[Item], group: int, files: Callable[[], int] = lambda: 1) -> Iterator[list[Item]]:
    """Groups; while they are files, which are listed without a wait, several in one up to so many `files`.

    What is listed before a source that cannot be opened comes before that source's error.
    """
    chunk: list[Item] = []
    try:
        for item in listed:
            chunk.append(item)
            if len(chunk) % group == 0 and not (item.unread and len(chunk) + group <= files()):
                yield chunk
                chunk = []
    except InputError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


@dataclass(frozen=True, eq=False)
class _Refused:
    """An item that the runtime could not compute: a fault of the item, or of the deployment."""

    item: Item
    error: Exception


def _computed(run: Run, chunk: list[Item]) -> Iterator[Prediction | _Refused]:
    """Those that have no fault at once; one by one where the model refuses one of them."""
    try:
        results = iter(run([item for item in chunk if item.fault is None]))
    except (InputError, *OF_RUNTIME) as error:
        if len(chunk) > 1:
            for item in chunk:
                yield from _computed(run, [item])
        elif isinstance(without_frames(error), OF_RUNTIME):
            yield _Refused(chunk[0], error)
        else:
            yield Prediction(chunk[0], f"{chunk[0].label}: {reason(error)}")
        return
    for item in chunk:
        if item.fault is None:
            yield Prediction(item, computed=next(results))
        else:
            yield Prediction(item, item.fault)


def _judged(outcomes: Iterable[Prediction | _Refused], works: Works) -> Iterator[Prediction]:
    """The predictions, in their turn, when what was listed before has been computed.

    What the runtime cannot compute is a fault of that input where the model still computes another: else it is one of
    the deployment, and raised with the label.
    """
    for outcome in outcomes:
        if isinstance(outcome, Prediction):
            yield outcome
            continue
        fault = f"{outcome.item.label}: {reason(outcome.error)}"
        if not works():
            raise ExportError(fault) from outcome.error
        yield Prediction(outcome.item, fault)
