"""Threads that call one model, and a bounded queue before them."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from backends.pending_call import submit
from backends.room import Room
from zoo.errors import InputError

THREAD = "zooport-worker"  # the names of the threads begin with it
ROOM = 2  # tasks for each worker: the one that it runs, and the one that it finds when that has ended
CLOSED = "the model is closed; load the deployment again"
FORKED = "the model was loaded before this process was forked, and its workers stayed behind; load it in each process"

Outcome = TypeVar("Outcome")


class Pool:
    """`workers` threads, which begin when they are needed. No more than `room` tasks are submitted and not done.

    An exception of a task is in its future, and touches no other task.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.room = ROOM * workers
        self._room = Room(self.room)
        self._executor = ThreadPoolExecutor(workers, THREAD)
        self._process = os.getpid()

    def submit(self, task: Callable[..., Outcome], /, *arguments: Any, **named: Any) -> Future[Outcome]:
        """The future of `task(...)`. Waits while there is no room.

        Raises InputError when the pool is closed, and in a process that was forked from the pool's.
        """
        self._refuse_fork()
        place = self._room.ask()
        try:
            place.result()
        except BaseException:  # Ctrl-C while it waits
            self._room.withdraw(place)
            raise
        return self._begin(task, *arguments, **named)

    async def run(self, task: Callable[..., Outcome], /, *arguments: Any, **named: Any) -> Outcome:
        """What `task(...)` returns. Waits for room, and for the result, without holding up the event loop.

        A coroutine that is cancelled leaves the queue; what a worker has begun, it ends.
        """
        import asyncio  # a program that uses none need not wait for it

        self._refuse_fork()
        place = self._room.ask()
        try:
            await asyncio.wrap_future(place)
        except BaseException:
            self._room.withdraw(place)
            raise
        return await asyncio.wrap_future(self._begin(task, *arguments, **named))

    def close(self, *, cancel: bool = False) -> None:
        """End the threads, once they have done what was submitted; `cancel`: only what they have begun."""
        self._room.close(lambda: InputError(CLOSED))
        self._executor.shutdown(cancel_futures=cancel)

    def _refuse_fork(self) -> None:
        if os.getpid() != self._process:  # the threads stayed behind, and a task would wait for ever
            raise InputError(FORKED)

    def _begin(self, task: Callable[..., Outcome], /, *arguments: Any, **named: Any) -> Future[Outcome]:
        try:
            future = submit(self._executor, partial(task, *arguments, **named))
        except RuntimeError as error:
            self._room.give_back()
            if "cannot schedule" not in str(error):  # but a thread could not be started
                raise
            raise InputError(CLOSED) from error
        future.add_done_callback(lambda _: self._room.give_back())
        return future
