"""The rows of a run, written down as they come, so that a run that was stopped goes on where it was."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

from zoo.errors import InputError
from zoo.files.locks import locked
from zoo.tables.table import Row

FILE = ".predictions.journal"
DAMAGED = "start again without --resume"
LIVE = "live"  # the setting of a run whose inputs cannot be read again
Key = tuple[str, int | None]


class Journal:
    """A file of JSON lines: first the settings of the run, then a row for each input, and the recordings that ended.

    A context manager, which holds the file's lock: one run at a time writes into a folder. A line that a killed run has
    left half is dropped. Of two rows of one input the later one counts. Rows of this run take no memory: a camera's
    may last for weeks.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], *, resume: bool) -> None:
        """Raises InputError where another run writes into `folder`, where a run is to go on that had other `settings`,
        or whose journal is damaged, and where rows would be lost that no run can make again.
        """
        self.path = folder / FILE
        self.ended: set[str] = set()
        self._earlier: dict[Key, int] = {}  # where the rows of earlier runs begin
        self._replaced: set[int] = set()  # where rows begin that do not count
        self._done: dict[str, set[int | None]] = {}
        self._settings = json.loads(json.dumps(settings))
        with ExitStack() as held:
            try:
                held.enter_context(locked(self.path, wait=False, make=True))
            except BlockingIOError as error:
                raise InputError(
                    f"{folder}: another run is writing into it; wait until it has ended, or give another folder"
                ) from error
            if not resume:
                self._check_not_live()
            whole = self._read() if resume else 0
            self._file = held.enter_context(self.path.open("r+b"))
            self._file.truncate(whole)
            self._file.seek(whole)
            self._held = held.pop_all()
        if not whole:
            self._write({"settings": self._settings})

    def add(self, row: Row) -> None:
        """Write down a row."""
        self._replace((row.source, row.frame))
        self._write({"row": row.to_dict()})

    def end(self, source: str) -> None:
        """Write down that a recording has ended."""
        self._write({"ended": source})
        self._note_end(source)

    def done(self, source: str) -> set[int | None]:
        """The frames of a source whose rows of earlier runs have no fault; of a file {None}."""
        return self._done.get(source, set())

    def rows(self) -> Iterator[Row]:
        """All of them, each input once."""
        place = 0
        with self.path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):  # a write that failed
                    return
                if place not in self._replaced and "row" in (content := json.loads(line)):
                    yield Row.from_dict(content["row"])
                place += len(line)

    def remove(self) -> None:
        """Nothing is left to go on with."""
        self.path.unlink(missing_ok=True)  # while it is held: who waits for it sees that its name is gone
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._file.closed and next(self.rows(), None) is None:  # there is nothing to go on with
            self.remove()
        self._held.close()

    def _write(self, content: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(content).encode() + b"\n")
        self._file.flush()

    def _note(self, row: Row, place: int) -> None:
        """A row of an earlier run."""
        self._replace((row.source, row.frame))
        self._earlier[row.source, row.frame] = place
        if row.fault is None:
            self._done.setdefault(row.source, set()).add(row.frame)

    def _note_end(self, source: str) -> None:
        self.ended.add(source)
        self._replace((source, None))  # an earlier run's fault of the whole recording

    def _replace(self, key: Key) -> None:
        """The row of an earlier run does not count any more."""
        if (place := self._earlier.pop(key, None)) is not None:
            self._replaced.add(place)

    def _check_not_live(self) -> None:
        with self.path.open("rb") as file:
            first, second = file.readline(), file.readline()
        with suppress(ValueError, TypeError, KeyError):  # of a damaged line nothing is left to lose
            if second.endswith(b"\n") and dict(json.loads(first)["settings"]).get(LIVE):
                raise InputError(
                    f"{self.path}: it alone has the rows of a camera's run that was stopped, a line of JSON each; move "
                    "it away to keep them, or remove it"
                )

    def _read(self) -> int:
        """How many bytes of whole lines there are."""
        whole = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file):
                if not line.endswith(b"\n"):
                    break
                self._take(number, line, whole)
                whole += len(line)
        return whole

    def _take(self, number: int, line: bytes, place: int) -> None:
        """One line that an earlier run has written."""
        try:
            content = json.loads(line)
            if number == 0:
                settings = dict(content["settings"])
            elif "ended" in content:
                self._note_end(content["ended"])
            else:
                self._note(Row.from_dict(content["row"]), place)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{self.path}: line {number + 1} is damaged; {DAMAGED}") from error
        if number == 0:
            self._check_settings(settings)

    def _check_settings(self, before: Mapping[str, Any]) -> None:
        if before.get(LIVE):
            raise InputError(f"--resume: {self.path.parent} was of a camera, which cannot be read again; {DAMAGED}")
        differing = [name for name, value in self._settings.items() if name != LIVE and before.get(name) != value]
        if differing:
            what = ", ".join(differing)
            raise InputError(
                f"--resume: {self.path.parent} was started with another {what}; give the same, or {DAMAGED}"
            )
