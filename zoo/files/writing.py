"""Files that are there whole or not at all, also after a power cut."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

Content = bytes | memoryview
NAME_BYTES = 255  # of a file, on the usual disks


def write_synced(path: Path, content: Content) -> None:
    """Write a file and bring it to the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_whole(path: Path, content: Content | str, *, make_folders: bool = False) -> None:
    """Write a file beside its place and move it there in one step. Text is written as UTF-8.

    A reader of `path` meanwhile has the old file or the new one; of several writers the last one wins. A writer that
    is killed leaves the old file, and at most a hidden one beside it. Raises OSError where it cannot be written.
    """
    if make_folders:
        path.parent.mkdir(parents=True, exist_ok=True)
    with staged(path) as place:
        write_synced(place, content.encode() if isinstance(content, str) else content)


@contextmanager
def made_folders(folder: Path) -> Iterator[None]:
    """Make a folder, and those that it is in. An exception removes what was made, unless somebody has put a file there.

    Raises OSError where one cannot be made.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        with suppress(OSError):
            for one in missing:
                one.rmdir()
        raise


@contextmanager
def staged(path: Path) -> Iterator[Path]:
    """A hidden place beside `path`, of its suffix: what is written and synced there moves to `path` in one step.

    An exception removes it, and leaves the old file. Raises OSError where nothing was written.
    """
    place = staged_place(path)
    try:
        yield place
        place.replace(path)
    except BaseException:
        place.unlink(missing_ok=True)
        raise


def staged_place(path: Path) -> Path:
    """A hidden name of no file yet, beside `path` and of its suffix."""
    token = secrets.token_hex(4)  # containers have the same process ids
    place = path.with_name(f".{token}.{path.name}")
    return place if len(os.fsencode(place.name)) <= NAME_BYTES else path.with_name(f".{token}{path.suffix}")


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
