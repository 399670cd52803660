"""The kernel's locks of files and folders: released when their holder dies, however it does.

A process that the holder has forked lets go of them: a worker that outlives its parent by seconds holds no lock.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_held: set[int] = set()


def _let_go() -> None:
    """In a child: its copies of the descriptors are closed, and the parent's locks stay."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_let_go)


@contextmanager
def locked(path: Path, *, wait: bool = True, make: bool = False) -> Iterator[int]:
    """Hold the lock of a file or a folder; gives the descriptor of what has that name, open as long as it is held.

    `make`: a file that is not there is made, and stays. Raises BlockingIOError where somebody else holds the lock and
    `wait` is False, and OSError where there is nothing of that name, or it cannot be opened.
    """
    descriptor = _acquire(path, os.O_RDWR | os.O_CREAT if make else os.O_RDONLY, wait=wait)
    _held.add(descriptor)
    try:
        yield descriptor
    finally:
        if descriptor in _held:  # and not in a process that was forked meanwhile
            _held.remove(descriptor)
            os.close(descriptor)


def _acquire(path: Path, flags: int, *, wait: bool) -> int:
    while True:
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder removed the file between our open and our lock: take the new one


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether what is open is what has that name now."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), named)
