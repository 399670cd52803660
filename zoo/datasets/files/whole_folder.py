"""A folder that is made by a program: put in its place whole and once, even if several processes ask for it."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from zoo.files.locks import locked
from zoo.progress import Progress

Write = Callable[[Path], Iterable[int]]
"""Writes the content into a folder, and gives the number of each entry when it is on the disk."""


def replace_folder(folder: Path, write: Write, what: str, count: int, progress: Progress | None = None) -> None:
    """Write `count` entries, and put them in the place of whatever `folder` is.

    They are written beside their place and renamed into it, so that a run that fails leaves the place as it was, and
    a killed one as well, but for the moment between two renames. `progress` is called with (`what`, entries done,
    entries in all). Raises OSError where that cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_prefix(folder), dir=folder.parent) as temporary:
        staged = Path(temporary) / "made"
        for index in write(staged):
            if progress is not None:
                progress(what, index + 1, count)
        earlier = Path(temporary) / "earlier"
        if folder.exists():
            folder.rename(earlier)
        try:
            staged.rename(folder)
        except BaseException:
            if earlier.exists():
                earlier.rename(folder)
            raise


def ensure_folder(
    folder: Path, mark: str, write: Write, what: str, count: int, progress: Progress | None = None
) -> None:
    """Make a folder unless it is whole, which its file `mark`, written last, tells.

    A killed run leaves nothing that looks whole; a second process waits for the first and takes what that has made.
    Raises OSError where it cannot be written.
    """
    if (folder / mark).is_file():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.parent / f".{folder.name}.lock", make=True):
        if (folder / mark).is_file():
            return
        for left_over in _unfinished(folder):  # of killed runs: we hold the lock
            shutil.rmtree(left_over)
        replace_folder(folder, write, what, count, progress)


def _unfinished(folder: Path) -> Iterator[Path]:
    """What killed runs have left beside a folder, and running ones still write."""
    return folder.parent.glob(f"{_prefix(folder)}*")


def _prefix(folder: Path) -> str:
    return f".{folder.name}-"
