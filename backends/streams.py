"""Sources through a model, wherever it runs: in this process, or behind a server."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from zoo.errors import InputError
from zoo.tasks import Result, Task

if TYPE_CHECKING:  # a program that streams nothing need not wait for these
    from backends.pool import Pool
    from backends.streaming import Prediction
    from zoo.sources import Item, SourceNames


class Streams(ABC):
    """What a model of `task` has for sources. A context manager; `pool`: its workers, None for a model without."""

    task: Task
    pool: "Pool | None"
    _computed: "Item | None" = None  # the first one of its streams, which tells later whether it still works

    def stream(
        self, source: "SourceNames", *, recursive: bool = False, ahead: int | None = None, **inputs: float
    ) -> Generator["Prediction", None, None]:
        """A generator of one `Prediction` for each input of a source, in order. Inputs are released soon, but for the
        model's first one, which stays until `close`: it tells whether the model or an input is at fault.

        `source`: a file, a folder (`recursive`: with the folders in it), a glob, a video, a camera's number, a
        stream's URL, "-" for a list on standard input; or a list of these. `ahead`: how many inputs a thread reads
        while others are computed; 4 by default. Workers read the files themselves, and compute several at once;
        `ahead` is then how many of them, or of groups of files that take 5 ms together, are under way or wait for their
        turn, by default twice as many as there are workers, and 4 at least. `inputs`: as in a call. An input that
        cannot be read, or that the model refuses, gives a prediction with a fault. Raises InputError at once for a
        source that does not exist, for an unknown input, and if the output level is not "final"; later if a camera or a
        stream cannot be opened.
        """
        if ahead is not None and (not isinstance(ahead, int) or ahead < 1):
            raise InputError(f"ahead is {ahead!r}, expected an integer, 1 or more")
        from zoo.sources import find_sources, list_items

        sources = find_sources(source, self.task.kind, recursive=recursive)
        return self.predictions(list_items(sources), inputs, ahead=ahead)

    def predictions(
        self,
        items: "Iterable[Item]",
        inputs: Mapping[str, float],
        *,
        ahead: int | None = None,
        begin: "Callable[[Item], None]" = lambda _: None,
    ) -> Generator["Prediction", None, None]:
        """As `stream`, for items of zoo.sources.list_items, in the smallest batches that the model takes.

        `begin`: called with the first of a batch before it is computed, if there are no workers.
        """
        from backends.runtime_errors import OF_RUNTIME
        from backends.streaming import AHEAD, pooled_predictions, predictions
        from zoo.sources import read_item, read_items

        group, kind = self._group(inputs), self.task.kind

        def run(read: "list[Item]") -> list[Result]:
            results = self._results(read, inputs)
            if results and self._computed is None:
                self._computed = read[0]
            return results

        def works() -> bool:
            if (kept := self._computed) is None:
                return False
            try:
                self._results([kept], inputs)
            except (InputError, *OF_RUNTIME):  # InputError: its file is gone
                return False
            return True

        if self.pool is None:
            files = read_items(items, kind)
            return predictions(run, works, files, group=group, ahead=ahead or AHEAD, begin=begin)
        ahead = ahead or max(AHEAD, self.pool.room)
        read = partial(read_item, kind=kind)
        return pooled_predictions(self.pool, run, works, read, items, group=group, ahead=ahead)

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
        self._computed = None
        self._release()

    @abstractmethod
    def _group(self, inputs: Mapping[str, float]) -> int:
        """How many items are computed together. Raises InputError for unknown inputs, and without results."""

    @abstractmethod
    def _results(self, items: "list[Item]", inputs: Mapping[str, float]) -> list[Result]:
        """The results of items that were read."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of what the model holds."""
