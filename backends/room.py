"""Room for so many tasks: threads and coroutines wait for it, first come, first served."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future


class Room:
    """Places for `count` tasks at once. A place is asked for, waited for, and given back when the task has ended."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.Lock()
        self._refusal: Callable[[], Exception] | None = None

    def ask(self) -> Future[None]:
        """A future that is done when the place is the caller's. After `close` it raises."""
        place: Future[None] = Future()
        with self._lock:
            if self._refusal is not None:
                place.set_exception(self._refusal())
            elif self._free:
                self._free -= 1
                place.set_result(None)
            else:
                self._waiting.append(place)
        return place

    def withdraw(self, place: Future[None]) -> None:
        """The caller no longer wants the place, whether or not it has it already."""
        if not place.cancel() and place.exception() is None:
            self.give_back()

    def give_back(self) -> None:
        """A task has ended: the next one that waits has its place."""
        with self._lock:
            while self._waiting:
                place = self._waiting.popleft()
                if place.set_running_or_notify_cancel():
                    place.set_result(None)
                    return
            self._free += 1

    def close(self, refusal: Callable[[], Exception]) -> None:
        """Those who wait, and those who ask later, get a refusal of their own: it holds what its frames hold."""
        with self._lock:
            self._refusal = refusal
            for place in self._waiting:
                if place.set_running_or_notify_cancel():
                    place.set_exception(refusal())
            self._waiting.clear()
