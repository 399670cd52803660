"""Whether what a command line names is there; known without torch, before the long work."""

from collections.abc import Iterable
from pathlib import Path

from zoo.errors import InputError, nearest


def check_present(what: str, paths: Iterable[str | Path | None], kind: str = "file") -> None:
    """Whether there is something at each path; None, and what has a scheme (https://...), is passed over.

    ``what`` begins the message, ``kind`` is "file" or "folder". Raises InputError that has the nearest names beside it.
    """
    for path in paths:
        if path is None or "://" in str(path) or Path(path).exists():
            continue
        folder = Path(path).parent
        names = sorted(entry.name for entry in folder.glob("[!.]*"))
        hint = f"; {nearest(Path(path).name, names)}" if names else ""
        raise InputError(f"{what} {path}: no such {kind}{hint}")
