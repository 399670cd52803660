"""Computations one at a time, in a thread beside an event loop, which knows whether they go on."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import TypeVar

from backends.pending_call import submit

Returned = TypeVar("Returned")


class OneThread:
    """Its computations wait for their turn, and are made in the order of the calls."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._began: float | None = None

    async def run(self, compute: Callable[[], Returned]) -> Returned:
        """What `compute` returns or raises."""
        return await asyncio.wrap_future(submit(self._pool, partial(self._timed, compute)))

    async def check(self, compute: Callable[[], object], patience: float) -> None:
        """Run `compute` in its turn: a thread that computes something else is alive.

        Raises what `compute` raises, and TimeoutError once any computation takes more than `patience` seconds.
        """
        submitted = submit(self._pool, partial(self._timed, compute))
        turn = asyncio.wrap_future(submitted)
        try:
            while not turn.done():
                if (seconds := self._seconds()) >= patience:
                    raise TimeoutError(f"a computation has taken more than {patience:g} s")
                await asyncio.wait([turn], timeout=patience - seconds)
            turn.result()
        finally:
            submitted.cancel()  # where it still waits behind a computation that does not end

    def _timed(self, compute: Callable[[], Returned]) -> Returned:
        self._began = monotonic()
        try:
            return compute()
        finally:
            self._began = None

    def _seconds(self) -> float:
        """That the computation under way has taken."""
        began = self._began
        return 0.0 if began is None else monotonic() - began
