"""One writer per place at a time: a lock file that the kernel releases when its holder dies, also by SIGKILL."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.errors import InputError

PID_BYTES = 32


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold the lock of ``place``: the file ``.<name>.lock`` beside it, which is gone again afterwards.

    Raises InputError where another process (or another thread of this one) holds it; the holder is not disturbed.
    Raises OSError where the file cannot be made.
    """
    path = place.parent / f".{place.name}.lock"
    descriptor = _acquire(path, place)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: whoever opened this very file sees that its name is gone
        os.close(descriptor)


def _acquire(path: Path, place: Path) -> int:
    """An open descriptor of the locked file at ``path``, with our pid in it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode(), 0)
                return descriptor
        except BlockingIOError as error:
            holder = os.pread(descriptor, PID_BYTES, 0).decode(errors="replace").strip()
            os.close(descriptor)
            who = f"process {holder}" if holder else "another process"
            raise InputError(
                f"{place}: {who} is writing into it right now; wait until it has ended, or give another --work-dir"
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder removed the file between our open and our lock: take the new one


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is the one that the name stands for now."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), named)
