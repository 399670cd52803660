"""A pool of threads: each task's own result, a bounded number of tasks, and an end that leaves no thread."""

import asyncio
import gc
import os
import threading
import weakref
from concurrent.futures import CancelledError, Future
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.pool import CLOSED, ROOM, THREAD, Pool
from tests.examples import examples
from zoo.errors import InputError

MANY = 500


class Counter:
    """Counts how many are inside at once, and the most."""

    def __init__(self) -> None:
        self.inside = self.most = 0
        self._lock = threading.Lock()

    def change(self, by: int) -> None:
        with self._lock:
            self.inside += by
            self.most = max(self.most, self.inside)


def workers_alive() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(THREAD)]


@examples(15, 200)
@given(workers=st.integers(1, 5), count=st.integers(0, 60), seed=st.integers(0, 2**16))
def test_each_task_has_its_own_result_and_no_more_than_the_room_are_under_way(
    workers: int, count: int, seed: int
) -> None:
    random, running, submitted = Random(seed), Counter(), Counter()
    rests = [random.choice([0, 0, 1e-4, 1e-3]) for _ in range(count)]
    pool = Pool(workers)
    rest = threading.Event()

    def task(number: int) -> int:
        running.change(1)
        rest.wait(rests[number])
        running.change(-1)
        submitted.change(-1)  # before the pool gives its place away
        if number % 7 == 3:
            raise ZeroDivisionError(number)
        return number * number

    futures = []
    for number in range(count):
        futures.append(pool.submit(task, number))
        submitted.change(1)
    pool.close()
    for number, future in enumerate(futures):
        if number % 7 == 3:
            assert isinstance(future.exception(), ZeroDivisionError)
            assert future.exception().args == (number,)
        else:
            assert future.result() == number * number
    assert running.most <= workers
    assert submitted.most <= ROOM * workers
    assert not workers_alive()


@examples(15, 200)
@given(workers=st.integers(1, 3), before=st.integers(0, 8), cancel=st.booleans())
def test_a_close_in_the_middle_ends_what_was_begun_and_all_futures(workers: int, before: int, cancel: bool) -> None:
    pool, gate, begun = Pool(workers), threading.Event(), Counter()

    def task(number: int) -> int:
        begun.change(1)
        gate.wait()
        return number

    futures = [pool.submit(task, number) for number in range(min(before, pool.room))]
    opener = threading.Timer(0.01, gate.set)
    opener.start()
    pool.close(cancel=cancel)
    opener.join()
    assert all(future.done() for future in futures)
    done = [number for number, future in enumerate(futures) if not future.cancelled()]
    assert done == list(range(begun.inside))  # the first ones; without `cancel` all of them
    assert cancel or len(done) == len(futures)
    assert [futures[number].result() for number in done] == done
    assert not workers_alive()
    with pytest.raises(InputError, match=CLOSED):
        pool.submit(task, 1)


def full_pool(gate: threading.Event) -> tuple[Pool, list[Future[bool]]]:
    pool = Pool(2)
    return pool, [pool.submit(gate.wait) for _ in range(pool.room)]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_after_a_fork_a_task_is_refused_and_does_not_wait_for_ever() -> None:
    pool, go_on = Pool(1), threading.Event()
    under_way = [pool.submit(go_on.wait) for _ in range(ROOM)]  # there is no room left
    if (child := os.fork()) == 0:
        code = 1
        try:
            pool.submit(int, "3")
        except InputError as error:
            code = 0 if "before this process was forked" in str(error) else 2
        finally:
            os._exit(code)
    go_on.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(future.result() for future in under_way)
    pool.close()


def test_submitting_waits_for_room_and_a_close_ends_the_waiting() -> None:
    gate, outcome = threading.Event(), []
    pool, futures = full_pool(gate)

    def submit() -> None:
        try:
            outcome.append(pool.submit(pow, 2, 5).result())
        except InputError as error:
            outcome.append(str(error))

    first = threading.Thread(target=submit)
    first.start()
    first.join(0.05)
    assert (first.is_alive(), outcome) == (True, [])
    gate.set()
    first.join()
    assert outcome == [32]
    gate.clear()
    futures += [pool.submit(gate.wait) for _ in range(pool.room)]
    second = threading.Thread(target=submit)
    second.start()
    second.join(0.05)
    assert second.is_alive()
    threading.Timer(0.01, gate.set).start()
    pool.close()
    second.join()
    assert outcome == [32, CLOSED]
    assert all(future.result() for future in futures)


def test_a_pool_that_is_dropped_ends_its_threads() -> None:
    pool = Pool(3)
    assert pool.submit(pow, 2, 3).result() == 8
    (thread,) = [each for each in threading.enumerate() if each.name.startswith(THREAD)]
    del pool
    thread.join()


def test_the_event_loop_runs_while_coroutines_wait_for_room() -> None:
    gate = threading.Event()
    pool, _ = full_pool(gate)

    async def main() -> list[int]:
        waiting = [asyncio.ensure_future(pool.run(pow, number, 2)) for number in range(30)]
        await asyncio.sleep(0)
        gate.set()  # never reached by a loop that is held up
        return await asyncio.gather(*waiting)

    assert asyncio.run(main()) == [number * number for number in range(30)]
    pool.close()


def test_coroutines_that_are_cancelled_take_no_room_and_threads_and_coroutines_take_turns() -> None:
    gate = threading.Event()
    pool, futures = full_pool(gate)

    async def main() -> None:
        waiting = [asyncio.ensure_future(pool.run(pow, number, 2)) for number in range(MANY)]
        await asyncio.sleep(0)
        gate.set()
        for number, task in enumerate(waiting):  # some have their places by now, some wait, some are done
            if number % 2:
                task.cancel()
                await asyncio.sleep(0)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        for number, outcome in enumerate(outcomes):
            assert outcome == number * number or (number % 2 and isinstance(outcome, asyncio.CancelledError))

    asyncio.run(main())
    assert all(future.result() for future in futures)
    gate.clear()
    again = [pool.submit(gate.wait) for _ in range(pool.room)]  # all places are there again
    gate.set()
    pool.close()
    assert all(future.result() for future in again)


def test_the_owner_of_a_future_may_cancel_it() -> None:
    gate = threading.Event()
    pool, futures = full_pool(gate)
    assert futures[-1].cancel()  # and its place is free again
    last = pool.submit(pow, 2, 4)
    gate.set()
    assert last.result() == 16
    with pytest.raises(CancelledError):
        futures[-1].result()
    pool.close()


def test_an_error_while_the_loop_waits_for_a_closed_pool() -> None:
    gate = threading.Event()
    pool, _ = full_pool(gate)

    async def main() -> None:
        waiting = asyncio.ensure_future(pool.run(pow, 2, 2))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(asyncio.to_thread(pool.close))
        with pytest.raises(InputError, match=CLOSED):
            await waiting
        gate.set()
        await closing

    asyncio.run(main())


def test_a_closed_pool_keeps_nothing_of_what_it_refuses() -> None:
    pool = Pool(1)
    pool.close()
    image = np.zeros(3)
    kept = weakref.ref(image)
    with pytest.raises(InputError, match=CLOSED):
        pool.submit(len, image)
    del image
    gc.collect()
    assert kept() is None


def test_a_task_that_is_cancelled_lets_go_of_its_image_at_once() -> None:
    gate = threading.Event()
    pool = Pool(1)
    under_way = pool.submit(gate.wait)
    image = np.zeros(3)
    kept = weakref.ref(image)
    waiting = pool.submit(len, image)
    del image
    assert waiting.cancel()
    gc.collect()
    assert kept() is None
    gate.set()
    assert under_way.result()
    pool.close()
