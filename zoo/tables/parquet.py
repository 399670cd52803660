"""Parquet, by pyarrow (extra `[parquet]`): a row for each thing that was found."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

from zoo.files.writing import staged, sync
from zoo.optional_library import optional_library
from zoo.tables.table import COMMON, Rows, Table, flat, require_columns
from zoo.tasks import Result, Task

ROWS_AT_ONCE = 10_000
LISTS = "list of lists"


class Parquet(Table):
    """The columns of CSV, typed. An input without anything has one row."""

    name: ClassVar[str] = "parquet"
    files: ClassVar[tuple[str, ...]] = ("predictions.parquet",)

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        columns = {**COMMON, **require_columns(task, self.name)}
        self._arrow = optional_library("pyarrow", "parquet", "--format parquet")
        self._schema = self._arrow.schema([(name, arrow_type(self._arrow, kind)) for name, kind in columns.items()])

    def entry(self, result: Result) -> Any:
        """Its rows."""
        return result.rows()

    def write(self, folder: Path, rows: Rows) -> None:
        """In pieces, so that no table need fit into memory."""
        parquet = optional_library("pyarrow.parquet", "parquet", "--format parquet")
        with staged(folder / self.files[0]) as place:
            with parquet.ParquetWriter(place, self._schema) as writer:
                things = chain.from_iterable(flat(self.name, row) for row in rows())
                for piece in _pieces(things):
                    plain = [{name: text_of(value) for name, value in each.items()} for each in piece]
                    writer.write_table(self._arrow.Table.from_pylist(plain, self._schema))
            sync(place)


def arrow_type(arrow: Any, kind: str) -> Any:
    """pyarrow's type of a column, by its name in a table's `columns`."""
    return arrow.list_(arrow.list_(arrow.float32())) if kind == LISTS else getattr(arrow, kind)()


def text_of(value: Any) -> Any:
    """Bytes of a name that are no UTF-8 are escaped, because Parquet has none such."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _pieces(things: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while piece := list(islice(things, ROWS_AT_ONCE)):
        yield piece
