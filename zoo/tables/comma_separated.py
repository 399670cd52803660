"""CSV: a line for each thing that was found."""

import csv
import json
from pathlib import Path
from typing import Any, ClassVar

from zoo.files.writing import staged, sync
from zoo.tables.table import COMMON, Rows, Table, flat, require_columns
from zoo.tasks import Result, Task


class CommaSeparated(Table):
    """The common columns, and those of the result's `rows`; lists as JSON. An input without anything has one line."""

    name: ClassVar[str] = "csv"
    files: ClassVar[tuple[str, ...]] = ("predictions.csv",)

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.columns = {**COMMON, **require_columns(task, self.name)}

    def entry(self, result: Result) -> Any:
        """Its rows."""
        return result.rows()

    def write(self, folder: Path, rows: Rows) -> None:
        """In UTF-8; bytes of a name that are none are escaped."""
        with staged(folder / self.files[0]) as place:
            with place.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
                writer = csv.DictWriter(file, list(self.columns), restval="")
                writer.writeheader()
                for row in rows():
                    writer.writerows(
                        {name: json.dumps(value) if isinstance(value, list) else value for name, value in each.items()}
                        for each in flat(self.name, row)
                    )
            sync(place)
