"""The base of all tables."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from zoo.errors import InputError
from zoo.tables.image_ids import AnnotatedImages
from zoo.tasks import Result, Task

COMMON: Mapping[str, str] = {
    "source": "string",
    "frame": "int64",
    "height": "int64",
    "width": "int64",
    "fault": "string",
}
"""The columns that every table has, name -> type."""


@dataclass(frozen=True)
class Row:
    """One input: the file, camera or address, the number of its frame (None of a file), height and width in pixels,
    what is wrong with it (None: nothing), and what each table keeps of it, by the table's name.
    """

    source: str
    frame: int | None = None
    height: int | None = None
    width: int | None = None
    fault: str | None = None
    entries: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return self.common() | {"entries": self.entries}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse. Raises TypeError for other fields."""
        return cls(**fields)

    def common(self) -> dict[str, Any]:
        """The columns that every table has."""
        return {name: getattr(self, name) for name in COMMON}


class Rows(Protocol):
    """All rows, as often as they are asked for."""

    def __call__(self) -> Iterator[Row]:
        """From the first on."""


class Table(ABC):
    """One form of a table, for the results of a task."""

    name: ClassVar[str]
    """On the command line."""
    files: ClassVar[tuple[str, ...]]
    """What `write` makes, in its order."""

    def __init__(self, task: Task) -> None:
        """Raises InputError where the task has no such form; BackendUnavailableError without the library."""
        self.task = task

    def take_image_ids(self, images: AnnotatedImages) -> None:  # noqa: B027 - most tables have no ids
        """Image ids of an annotation file, for tables that have ids."""

    @abstractmethod
    def entry(self, result: Result) -> Any:
        """What is kept of a result: plain JSON types."""

    @abstractmethod
    def write(self, folder: Path, rows: Rows) -> None:
        """Write `files` into the folder, each whole or not at all. Raises OSError."""


def require_columns(task: Task, table: str) -> Mapping[str, str]:
    """The columns of the task's rows, name -> type. Raises InputError where it has none."""
    columns = task.result_type.columns
    if not columns:
        raise InputError(f"--format {table}: task {task.name} has no rows; give --format files or jsonl")
    return columns


def flat(table: str, row: Row) -> Sequence[dict[str, Any]]:
    """A row of the table for each thing in an input; one with the common columns alone where there is none."""
    things = row.entries.get(table) or [{}]
    return [row.common() | thing for thing in things]
