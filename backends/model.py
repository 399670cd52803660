"""A model that takes images, or whatever its task takes, and gives results, whatever runs it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from backends.calls import Array, Calls
from backends.runner import Runner
from backends.streams import Streams
from zoo.errors import InputError
from zoo.tasks import Result, Task

if TYPE_CHECKING:  # a model without workers loads without these
    from concurrent.futures import Future

    from backends.pool import Pool
    from zoo.sources import Item


class Model(Calls, Streams):
    """A model to call, see Calls; to stream sources through, see Streams; and, with workers, to submit calls to.

    `workers`: how many threads of its own make the calls of `submit`, `acall` and `stream`; None for a model without.
    """

    def __init__(
        self, name: str, task: Task, rule: Any, runner: Runner, level: str = "final", workers: int | None = None
    ) -> None:
        super().__init__(name, task, rule, runner, level)
        self.pool = None
        if workers is not None:
            from backends.pool import Pool

            self.pool = Pool(workers)

    def submit(self, images: Array | Iterable[Array], **inputs: float) -> "Future[Any]":
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

    @property
    def _workers(self) -> "Pool":
        if self.pool is None:
            raise InputError(f"{self.name}: it was loaded without workers; give load(FOLDER, workers=N)")
        return self.pool

    def _group(self, inputs: Mapping[str, float]) -> int:
        self._settings(inputs)
        self._refuse_level()
        return min(self._batch.min, self._chunk_size)

    def _results(self, items: "list[Item]", inputs: Mapping[str, float]) -> list[Result]:
        return self([item.value for item in items], **inputs)

    def _release(self) -> None:
        self.runner.close()
