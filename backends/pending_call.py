"""A call that waits in an executor's queue, and holds what it is called with no longer than it may still be made."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

Returned = TypeVar("Returned")


def submit(executor: ThreadPoolExecutor, call: Callable[[], Returned]) -> Future[Returned]:
    """As `executor.submit(call)`; but a future that is cancelled lets go of the call, and of the image in it.

    The executor's queue itself keeps a cancelled call until a thread comes to it.
    """
    pending = _Pending(call)
    future = executor.submit(pending)
    future.add_done_callback(pending.drop)
    return future


class _Pending(Generic[Returned]):
    def __init__(self, call: Callable[[], Returned]) -> None:
        self._call: Callable[[], Returned] | None = call

    def __call__(self) -> Returned:
        call, self._call = self._call, None
        assert call is not None  # a future that was cancelled is not run
        return call()

    def drop(self, _: Future[Any]) -> None:
        self._call = None
