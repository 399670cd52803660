"""One block's results as a Parquet file: a row for each image, also for one that has a fault."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from backends.scale.storage import EXTRA, USE, Storage
from backends.streaming import Prediction
from zoo.byte_sizes import MEBIBYTE
from zoo.optional_library import optional_library
from zoo.tables.parquet import arrow_type, text_of
from zoo.tables.table import COMMON
from zoo.tasks import Result, Task

RESULTS = "results"
JSON = ".json"
ROWS_AT_ONCE = 64
BYTES_AT_ONCE = 32 * MEBIBYTE  # of files in them; a row alone may have more
FAULTS = b"zooport.faults"


class Part:
    """The form of a part for the results of a task.

    Columns: the common ones of every table; `results`, a list with an element for each thing in the image, as
    `--format parquet` has rows, if the task has rows; and the other files that a local run writes for each image, their
    contents in a column by the name of their ending: `png`, `npz`. Together they are the whole result, to the bit.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._arrow = arrow = optional_library("pyarrow", EXTRA, USE)
        columns = [(name, arrow_type(arrow, kind)) for name, kind in COMMON.items()]
        if fields := task.result_type.columns:
            things = arrow.struct([(name, arrow_type(arrow, kind)) for name, kind in fields.items()])
            columns.append((RESULTS, arrow.list_(things)))
        self._suffixes = [suffix for suffix in task.suffixes if suffix != JSON]
        columns += [(suffix.lstrip("."), arrow.binary()) for suffix in self._suffixes]
        self.schema = arrow.schema(columns)

    def row(self, prediction: Prediction, result: Result | None) -> dict[str, Any]:
        """`result`: what is kept of the prediction; None if that has a fault."""
        item = prediction.item
        height, width = (None, None) if item.value is None else self.task.kind.size(item.value) or (None, None)
        row: dict[str, Any] = {
            "source": text_of(item.source.label),
            "frame": item.frame,
            "height": height,
            "width": width,
            "fault": text_of(prediction.fault),
        }
        if result is None:
            return row
        if RESULTS in self.schema.names:
            row[RESULTS] = [{name: text_of(value) for name, value in thing.items()} for thing in result.rows()]
        files = dict(self.task.files(item.value, result)) if self._suffixes else {}
        return row | {suffix.lstrip("."): files.get(suffix) for suffix in self._suffixes}

    def write(self, storage: Storage, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """The whole file, or none. Few rows are in memory at a time. Raises OSError."""
        library = optional_library("pyarrow.parquet", EXTRA, USE)
        faults = 0
        with storage.staged(name) as place, library.ParquetWriter(place, self.schema, filesystem=storage.files) as file:
            for few in _few_at_a_time(rows):
                faults += sum(row["fault"] is not None for row in few)
                file.write_table(self._arrow.Table.from_pylist(few, self.schema))
            file.add_key_value_metadata({FAULTS: str(faults).encode()})


def _few_at_a_time(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """ROWS_AT_ONCE of them, or fewer that have BYTES_AT_ONCE together."""
    held: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, bytes))
        if len(held) == ROWS_AT_ONCE or size >= BYTES_AT_ONCE:
            yield held
            held, size = [], 0
    if held:
        yield held


def count_faults(storage: Storage, name: str) -> int:
    """How many rows of a part have a fault. Raises OSError, and ValueError for what is no part."""
    library = optional_library("pyarrow.parquet", EXTRA, USE)
    metadata = library.read_metadata(storage.child(name), filesystem=storage.files).metadata or {}
    return int(metadata.get(FAULTS, b"0"))
