"""JSON lines: an object for each input."""

import json
from pathlib import Path
from typing import Any, ClassVar

from zoo.errors import InputError
from zoo.files.writing import staged, sync
from zoo.tables.table import COMMON, Rows, Table
from zoo.tasks import Result


class JsonLines(Table):
    """The common columns, and what the result's `to_dict` says; nothing of an input with a fault."""

    name: ClassVar[str] = "jsonl"
    files: ClassVar[tuple[str, ...]] = ("predictions.jsonl",)

    def entry(self, result: Result) -> Any:
        """All of it. Raises InputError where a part has the name of a common column."""
        entry = result.to_dict()
        if shared := [name for name in entry if name in COMMON]:
            raise InputError(
                f'--format {self.name}: the output "{shared[0]}" has the name of a common column; give --format files, '
                "or another name to the output"
            )
        return entry

    def write(self, folder: Path, rows: Rows) -> None:
        """Names of files as they are, bytes that are no UTF-8 as half characters."""
        with staged(folder / self.files[0]) as place:
            with place.open("w", encoding="ascii") as file:
                file.writelines(json.dumps(row.common() | row.entries.get(self.name, {})) + "\n" for row in rows())
            sync(place)
