"""Computations in one thread: their order, and a check that tells one that is long from one that does not end."""

import asyncio
import threading

import pytest

from backends.serving.one_thread import OneThread


class Hold(threading.Event):
    """What a computation waits for, and not for ever: the thread has to end."""

    def compute(self) -> bool:
        return self.wait(60)


def test_a_check_waits_for_the_computations_before_it() -> None:
    thread, hold, order = OneThread(), Hold(), []

    async def check() -> None:
        computation = asyncio.create_task(thread.run(hold.compute))
        await asyncio.sleep(0)  # it is submitted
        checked = asyncio.create_task(thread.check(lambda: order.append("check"), patience=600))
        await asyncio.sleep(0)
        assert not checked.done()
        order.append("computation")
        hold.set()
        await checked
        assert await computation

    asyncio.run(check())
    assert order == ["computation", "check"]


def test_a_computation_that_does_not_end_is_found_and_its_checks_are_withdrawn() -> None:
    thread, hold, checks = OneThread(), Hold(), []

    async def check() -> None:
        computation = asyncio.create_task(thread.run(hold.compute))
        await asyncio.sleep(0)
        for _ in range(2):
            with pytest.raises(TimeoutError, match=r"a computation has taken more than 0\.05 s"):
                await thread.check(lambda: checks.append("late"), patience=0.05)
        hold.set()
        assert await computation
        await thread.check(lambda: checks.append("next"), patience=600)

    asyncio.run(check())
    assert checks == ["next"]


def test_a_check_that_does_not_end_is_found() -> None:
    thread, hold = OneThread(), Hold()
    with pytest.raises(TimeoutError):
        asyncio.run(thread.check(hold.compute, patience=0.05))
    hold.set()


def test_a_check_raises_what_it_finds() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(OneThread().check(lambda: 1 // 0, patience=600))
