"""The folder beside a plan that it is built in, and the lock of the folder that both are in."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One writer at a time: the kernel's lock of the folder itself, so that no file of ours is left in it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def scratch_folder(plan: Path) -> Iterator[Path]:
    """A new folder beside the plan, removed at the end.

    A build holds its folder's lock for as long as it lives. So one that nobody holds is of a build that was killed,
    and is removed, too.
    """
    prefix = f".{plan.name}.building-"
    with locked(plan.parent):
        for left in plan.parent.iterdir():
            if left.name.startswith(prefix):
                _remove_unheld(left)
        folder = Path(tempfile.mkdtemp(dir=plan.parent, prefix=prefix))
        held = os.open(folder, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _remove_unheld(folder: Path) -> None:
    try:
        held = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return  # its build has just ended
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(held)
