"""The faults of a data set's files: collected, each with its file and line, and raised together."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from zoo.errors import InputError, nearest
from zoo.shipped import whereabouts

SHOWN = 10

Line = int | Callable[[], int] | None
"""A line number, 1 and up; or how to find it, called for the faults that are shown alone; or None for a whole file."""
Message = str | Callable[[], str]
"""What is wrong; or how to say it, called for the faults that are shown alone: to find the nearest name takes long."""


class Fault(NamedTuple):
    """What is wrong in a file."""

    path: Path
    line: Line
    message: Message

    def __str__(self) -> str:
        line = self.line() if callable(self.line) else self.line
        where = str(self.path) if line is None else f"{self.path}, line {line}"
        return f"{where}: {self.message() if callable(self.message) else self.message}"


def _nearest_beside(gone: Path) -> str:
    siblings = sorted(entry.name for entry in gone.parent.iterdir())
    return f"; {nearest(gone.name, siblings)}" if siblings else ""


class Faults:
    """The faults of one data set, in the order in which they were found."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        self._found: list[Fault] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, path: Path, message: Message, line: Line = None) -> None:
        """Collects one."""
        self._found.append(Fault(path, line, message))

    def missing(self, path: Path, what: str) -> None:
        """A file or folder that is not there, or the uppermost folder above it that is not there either.

        Its nearest neighbours are named: a split is soon misspelt, and so is a root. What is there, but a file in the
        place of a folder or the other way round, is named as that.
        """
        gone = path
        while not gone.parent.is_dir():
            gone = gone.parent
        wanted = what if gone == path else "folder"
        if gone.exists():
            self.add(gone, f"this is a {'folder' if gone.is_dir() else 'file'}, expected a {wanted}")
            return
        self.add(gone, lambda: f"no such {wanted}{whereabouts(path) or _nearest_beside(gone)}")

    def raise_any(self) -> None:
        """Raises InputError where there are faults: the first ten of them, and how many more."""
        if not self._found:
            return
        count = len(self._found)
        shown = [str(fault) for fault in self._found[:SHOWN]]
        if count > SHOWN:
            shown.append(f"and {count - SHOWN} more")
        raise InputError(
            f"dataset {self.dataset} has {count} {'fault' if count == 1 else 'faults'}: {'; '.join(shown)}"
        )
