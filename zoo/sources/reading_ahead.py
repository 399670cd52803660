"""Reading ahead of the use of what was read: one thread, and a queue with an end."""

import atexit
import sys
import threading
from collections.abc import Generator, Iterable
from queue import Full, Queue
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
LOOK = 0.1  # seconds between two looks whether anybody still wants what was read
PATIENCE = 1.0  # seconds that the end of Python waits for the thread; a camera may never give its next frame


class _Read(NamedTuple, Generic[Item]):
    """What the thread hands over: an item; no item at the end, with the error that ended it."""

    item: tuple[Item] | None = None
    error: BaseException | None = None


def read_ahead(items: Iterable[Item], depth: int) -> Generator[Item, None, None]:
    """The same items, `depth` of them read while the one before is used. An error of theirs is raised here.

    The thread starts with the first item that is asked for, and has ended when the generator has: at the last item,
    when it is closed, and where an exception, Ctrl-C among them, leaves the loop. One that is left open ends with
    Python, before Python takes its own parts away: a thread in OpenCV would then abort the process.
    """
    queue: Queue[_Read[Item]] = Queue(depth)
    unwanted = threading.Event()
    reader = threading.Thread(target=_read, args=(items, queue, unwanted), name="zooport-read-ahead", daemon=True)
    reader.start()

    def end(patience: float | None) -> None:
        unwanted.set()
        reader.join(patience)

    atexit.register(end, PATIENCE)
    try:
        while (read := queue.get()).item is not None:
            yield read.item[0]
        if read.error is not None:
            raise read.error
    finally:
        atexit.unregister(end)
        if not sys.is_finalizing():  # then it has ended, or waits for a camera
            end(None)


def _read(items: Iterable[Item], queue: Queue[_Read[Item]], unwanted: threading.Event) -> None:
    """The thread: until the items end, or nobody wants them any more."""
    last: _Read[Item] = _Read()
    try:
        for item in items:
            if not _put(_Read((item,)), queue, unwanted):
                break
    except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
        last = _Read(error=error)
    finally:
        if isinstance(items, Generator):
            items.close()
    _put(last, queue, unwanted)


def _put(read: _Read[Item], queue: Queue[_Read[Item]], unwanted: threading.Event) -> bool:
    """Whether it was taken, before nobody wanted it any more."""
    while not unwanted.is_set():
        try:
            queue.put(read, timeout=LOOK)
        except Full:
            continue
        return True
    return False
