"""One writer per place at a time: a lock file that the kernel releases when its holder dies, also by SIGKILL."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from zoo.errors import InputError
from zoo.files import locks

PID_BYTES = 32


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold the lock of ``place``: the file ``.<name>.lock`` beside it, which is gone again afterwards.

    Raises InputError where another process (or another thread of this one) holds it; the holder is not disturbed.
    Raises OSError where the file cannot be made.
    """
    path = place.parent / f".{place.name}.lock"
    with ExitStack() as held:
        try:
            descriptor = held.enter_context(locks.locked(path, wait=False, make=True))
        except BlockingIOError as error:
            holder = _holder(path)
            who = f"process {holder}" if holder else "another process"
            raise InputError(
                f"{place}: {who} is writing into it right now; wait until it has ended, or give another --work-dir"
            ) from error
        held.callback(path.unlink, missing_ok=True)  # while it is held: who waits for it sees that its name is gone
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield


def _holder(path: Path) -> str:
    """The pid in a lock file; "" where it is gone, or not written yet."""
    try:
        with path.open("rb") as file:
            return file.read(PID_BYTES).decode(errors="replace").strip()
    except FileNotFoundError:
        return ""
