"""One thread reads ahead, a bounded number of items, and ends whenever its user does."""

import threading
from collections.abc import Iterator

import pytest

from zoo.sources import read_ahead

NAME = "zooport-read-ahead"


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def counting(seen: list[int], total: int = 10_000) -> Iterator[int]:
    for number in range(total):
        seen.append(number)
        yield number


def test_all_items_in_order_and_no_thread_left() -> None:
    assert list(read_ahead(range(100), 3)) == list(range(100))
    assert list(read_ahead([], 1)) == []
    assert not readers()


def test_it_reads_no_further_than_asked() -> None:
    seen: list[int] = []
    ahead = read_ahead(counting(seen), 3)
    assert not seen  # nothing before the first item is asked for
    assert next(ahead) == 0
    ahead.close()
    assert len(seen) <= 6  # one used, three waiting, one in hand, one more after the close
    assert not readers()


def test_an_exception_in_the_consumer_ends_the_thread() -> None:
    with pytest.raises(ZeroDivisionError):
        list(1 / (number - 3) for number in read_ahead(counting([]), 2))  # noqa: C400 - a loop that breaks
    assert not readers()


def test_an_error_of_the_items_is_raised_after_those_before_it() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    ahead = read_ahead(broken(), 4)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="gone"):
        next(ahead)
    assert not readers()


def test_what_is_read_from_is_closed() -> None:
    closed = threading.Event()

    def opened() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            closed.set()

    ahead = read_ahead(opened(), 1)
    next(ahead)
    ahead.close()
    assert closed.is_set()


def test_a_generator_that_is_forgotten_ends_its_thread() -> None:
    ahead = read_ahead(counting([]), 1)
    next(ahead)
    del ahead
    assert not readers()
