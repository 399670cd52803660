"""The contents of image files in a column of a Parquet file, few of them in memory at a time."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from backends.scale.inputs import NESTED, Inputs
from backends.scale.storage import EXTRA, USE, Storage
from zoo.byte_sizes import MEBIBYTE
from zoo.errors import InputError
from zoo.input_kinds import MAX_BYTES
from zoo.optional_library import optional_library

WHOLE = 64 * MEBIBYTE
"""A column of a row group of at most this size is read in one request; of a larger one, pages are read one by one."""
BUFFER = 8 * MEBIBYTE  # of a request for a part of a column
ROWS = 16  # at a time, of a column that is read in one request


class Content(NamedTuple):
    """`size`: of the value, in bytes. `value`: empty if it is larger than MAX_BYTES."""

    size: int
    value: bytes


def contents(inputs: Inputs, storage: Storage) -> Iterator[Content]:
    """The values of the rows. In memory are at most WHOLE bytes of the column, or one page of it and one row.

    Raises InputError, with the reason but without the file, at the first row that cannot be read: a page is damaged,
    the file is gone, or it is another one than when the run began.
    """
    arrow = optional_library("pyarrow", EXTRA, USE)
    group = f"row group {inputs.group}"
    left = inputs.images
    try:
        for content in _contents(inputs, storage):
            left -= 1
            yield content
    except FileNotFoundError as error:
        raise InputError("no such file") from error
    except (OSError, ValueError, LookupError, arrow.ArrowException) as error:
        raise InputError(f"{group} cannot be read ({' '.join(str(error).split())})") from error
    if left:
        raise InputError(f"{group} has fewer rows than when the run began")


def _contents(inputs: Inputs, storage: Storage) -> Iterator[Content]:
    """The footer says how large the column is, but not which rows are large: rows of a large one come one by one."""
    library = optional_library("pyarrow.parquet", EXTRA, USE)
    place = {"source": inputs.path, "filesystem": storage.files}
    footer = library.read_metadata(inputs.path, filesystem=storage.files)
    fits = _size(footer.row_group(inputs.group), inputs.column or "") <= WHOLE
    with library.ParquetFile(**place, metadata=footer, pre_buffer=fits, buffer_size=0 if fits else BUFFER) as table:
        batches = table.iter_batches(ROWS if fits else 1, row_groups=[inputs.group], columns=[inputs.column])
        passed, end = 0, inputs.first + inputs.images
        for batch in batches:
            for row in range(max(0, inputs.first - passed), min(batch.num_rows, end - passed)):
                yield _content(batch.column(0)[row])
            passed += batch.num_rows
            if passed >= end:
                return


def _size(group: Any, column: str) -> int:
    """Of a column in a row group, in bytes, in memory or in the file."""
    chunks = (group.column(number) for number in range(group.num_columns))
    (size,) = (
        max(chunk.total_uncompressed_size, chunk.total_compressed_size)
        for chunk in chunks
        if chunk.path_in_schema == column
    )
    return int(size)


def _content(scalar: Any) -> Content:
    """Of a row: bytes, or a struct with them, or null."""
    nested = getattr(scalar, "keys", None) is not None
    value = (scalar[NESTED] if scalar.is_valid else None) if nested else scalar
    if value is None or not value.is_valid:
        return Content(0, b"")
    size = value.as_buffer().size
    return Content(size, value.as_py() if size <= MAX_BYTES else b"")
