"""A model that takes images, or whatever its task takes, and gives results, whatever runs it."""

from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import Any, Self

from backends.calls import Array, Calls
from backends.pool import Pool
from backends.runner import Runner
from backends.streaming import AHEAD, Prediction, pooled_predictions, predictions
from zoo.errors import InputError
from zoo.sources import Item, SourceNames, find_sources, list_items, read_item, read_items
from zoo.tasks import Result, Task


class Model(Calls):
    """A model to call, see Calls; to stream sources through; and, with workers, to submit calls to. A context manager.

    `workers`: how many threads of its own make the calls of `submit`, `acall` and `stream`; None for a model without.
    """

    def __init__(
        self, name: str, task: Task, rule: Any, runner: Runner, level: str = "final", workers: int | None = None
    ) -> None:
        super().__init__(name, task, rule, runner, level)
        self.pool = None if workers is None else Pool(workers)

    def submit(self, images: Array | Iterable[Array], **inputs: float) -> Future[Any]:
        """The future of a call with these arguments, which a worker makes.

        Waits while the workers have all the calls that they have room for, twice as many as there are workers. Do not
        write into an image before its result is there. Raises InputError without workers, and when the model is closed.
        """
        return self._workers.submit(self, images, **inputs)

    async def acall(self, images: Array | Iterable[Array], **inputs: float) -> Any:
        """As a call, for asyncio: a worker makes it, and the event loop is never held up.

        Coroutines wait for room first come, first served. One that is cancelled waits no longer. Raises as a call does,
        and as `submit`.
        """
        return await self._workers.run(self, images, **inputs)

    def stream(
        self, source: SourceNames, *, recursive: bool = False, ahead: int | None = None, **inputs: float
    ) -> Generator[Prediction, None, None]:
        """A generator of one `Prediction` for each input of a source, in order. Inputs are released soon.

        `source`: a file, a folder (`recursive`: with the folders in it), a glob, a video, a camera's number, a
        stream's URL, "-" for a list on standard input; or a list of these. `ahead`: how many inputs a thread reads
        while others are computed; 4 by default. Workers read the files themselves, and compute several at once;
        `ahead` is then how many of them are under way or wait for their turn, by default twice as many as there are
        workers, and 4 at least. `inputs`: as in a call. An input that cannot be read, or that the model refuses, gives
        a prediction with a fault. Raises InputError at once for a source that does not exist, for an unknown input, and
        if the output level is not "final"; later if a camera or a stream cannot be opened.
        """
        if ahead is not None and (not isinstance(ahead, int) or ahead < 1):
            raise InputError(f"ahead is {ahead!r}, expected an integer, 1 or more")
        sources = find_sources(source, self._kind, recursive=recursive)
        return self.predictions(list_items(sources), inputs, ahead=ahead)

    def predictions(
        self,
        items: Iterable[Item],
        inputs: Mapping[str, float],
        *,
        ahead: int | None = None,
        begin: Callable[[Item], None] = lambda _: None,
    ) -> Generator[Prediction, None, None]:
        """As `stream`, for items of zoo.sources.list_items, in the smallest batches that the graph takes.

        `begin`: called with the first of a batch before it is computed, if there are no workers.
        """
        self._settings(inputs)
        self._refuse_level()
        group = min(self._batch.min, self._chunk_size)

        def run(values: list[Any]) -> list[Result]:
            return self(values, **inputs)

        if self.pool is None:
            reading = read_items(items, self._kind)
            return predictions(run, reading, group=group, ahead=ahead or AHEAD, begin=begin)
        ahead = ahead or max(AHEAD, self.pool.room)
        return pooled_predictions(self.pool, run, partial(read_item, kind=self._kind), items, group=group, ahead=ahead)

    def close(self) -> None:
        """End the workers, once they have made the submitted calls, and release the memory.

        A later call raises InputError. A `with` block that an exception leaves cancels what no worker has begun.
        """
        self._end(cancel=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(cancel=error is not None)

    def _end(self, *, cancel: bool) -> None:
        """`cancel`: submitted calls that no worker has begun are cancelled."""
        if self.pool is not None:
            self.pool.close(cancel=cancel)
        self.runner.close()

    @property
    def _workers(self) -> Pool:
        if self.pool is None:
            raise InputError(f"{self.name}: it was loaded without workers; give load(FOLDER, workers=N)")
        return self.pool
