"""The results of a run on the disk, image by image, so that an interrupted run can go on.

One SQLite file for each model; several processes may write into it. A killed process loses at most the image that it
was at.
"""

import hashlib
import io
import json
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from zoo.errors import InputError
from zoo.files.locks import locked
from zoo.tasks import Result
from zoo.tasks.saving import npz

Kind = TypeVar("Kind", bound=Result)
TABLES = """
create table if not exists run (made_from text not null);
create table if not exists results
    (number integer primary key, image text not null, seconds real not null, kind text not null, arrays blob not null);
"""
PATIENCE = 60.0  # seconds that a process waits for another one's write


def as_file_name(name: str) -> str:
    """The name of a model, fit for files and folders."""
    return re.sub(r"[^\w.-]+", "_", name)


class StoredResult(NamedTuple):
    """A row of the store. `image`: its state, see IndexedDataset. `kind`: of the result, whose `arrays` are an npz."""

    number: int
    image: str
    seconds: float
    kind: str
    arrays: bytes

    @classmethod
    def of(cls, number: int, image: str, seconds: float, result: Result) -> Self:
        """From a result, and the seconds that it took."""
        return cls(number, image, seconds, type(result).__name__, npz(result.arrays))


class ResultStore:
    """The results of one model, by the image's number in the data set. A context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        self._file.execute("pragma synchronous = normal")
        self._file.execute("pragma journal_mode = wal")

    @classmethod
    def prepare(cls, path: Path, made_from: Mapping[str, Any], *, resume: bool) -> frozenset[int]:
        """Make the file, or keep it where ``resume`` says so and it has results of the same model; their numbers.

        ``made_from``: what the results depend on, but for the images themselves.
        """
        wanted = json.dumps(made_from, sort_keys=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        if resume and path.is_file():
            try:
                with cls(path) as kept:
                    if kept.made_from() == wanted:
                        return kept.numbers()
            except sqlite3.DatabaseError as error:
                raise InputError(
                    f"{path}: results of an earlier run that cannot be read ({error}); remove it"
                ) from error
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)
        with cls(path) as new:
            new.begin(wanted)
        return frozenset()

    @classmethod
    def prepare_shared(cls, folder: Path, made_from: Mapping[str, Any]) -> tuple[Path, frozenset[int]]:
        """The file in the folder for all results that are made from the same, and the numbers of those in it.

        Other processes may prepare and fill the same file meanwhile.
        """
        digest = hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()
        path = folder / f"{digest}.sqlite"
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            return path, cls.prepare(path, made_from, resume=True)

    def begin(self, made_from: str) -> None:
        """Make the tables of a new file."""
        self._file.executescript(TABLES)
        self._file.execute("insert into run values (?)", (made_from,))

    def made_from(self) -> str | None:
        """What ``begin`` was given; None where the file was never finished."""
        known = self._file.execute("select 1 from sqlite_master where name = 'run'").fetchone()
        row = self._file.execute("select made_from from run").fetchone() if known else None
        return None if row is None else str(row[0])

    def numbers(self) -> frozenset[int]:
        """The images that have a result."""
        return frozenset(row[0] for row in self._file.execute("select number from results"))

    def get(self, number: int, image: str, kind: type[Kind]) -> Kind | None:
        """The result, of the class ``kind``, for an image in its state ``image``.

        None where there is none, or the image has changed.
        """
        row = self._file.execute(
            "select kind, arrays from results where number = ? and image = ?", (number, image)
        ).fetchone()
        if row is None or row[0] != kind.__name__:
            return None
        try:
            with np.load(io.BytesIO(row[1]), allow_pickle=False) as arrays:
                result = kind.of_arrays(dict(arrays))
        except (ValueError, TypeError, OSError, zipfile.BadZipFile, zlib.error):
            return None  # of an older zooport
        return result

    def put(self, number: int, image: str, seconds: float, result: Result) -> None:
        """Keep the result for an image, and the seconds that it took."""
        self.add([StoredResult.of(number, image, seconds, result)])

    def add(self, rows: Iterable[StoredResult]) -> None:
        """Keep results; a number that is there already gets the new one."""
        self._file.executemany("insert or replace into results values (?, ?, ?, ?, ?)", rows)

    def seconds(self, numbers: Iterable[int]) -> tuple[float, ...]:
        """Of these images, in their order."""
        known = dict(self._file.execute("select number, seconds from results"))
        return tuple(known[number] for number in numbers)

    def close(self) -> None:
        """A second call does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
