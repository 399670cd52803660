"""From what people name to the inputs of a large run, each known by its place alone: nothing is read yet."""

import json
import posixpath
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple, Self

from backends.scale.storage import EXTRA, USE, Storage, is_uri
from zoo.addresses import without_password
from zoo.errors import InputError
from zoo.input_kinds import InputKind
from zoo.optional_library import optional_library
from zoo.sources import find_sources

TABLE = ".parquet"
LOCAL = "file://"
NESTED = "bytes"  # how data sets of Hugging Face keep the content of an image


class Inputs(NamedTuple):
    """A file, or some rows of a Parquet file that holds the contents of files.

    `base`: the location of the storage that has it, see `reached`; empty on this machine. `path`: on that file system;
    of this machine absolute.
    `label`: for messages and results. Of a Parquet file: `column`, its row group, and `first` in that group,
    and `images` of its rows; `row`: the number of the first of these rows in the file.
    """

    base: str
    path: str
    label: str
    images: int = 1
    column: str | None = None
    group: int = 0
    first: int = 0
    row: int = 0

    @property
    def first_label(self) -> str:
        """Of the file, or of the first of the rows."""
        return self._row_label(self.row)

    @property
    def last_label(self) -> str:
        """Of the file, or of the last of the rows."""
        return self._row_label(self.row + self.images - 1)

    def to_json(self) -> str:
        """The inverse of `from_json`."""
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`."""
        return cls(*json.loads(text))

    def _row_label(self, row: int) -> str:
        return self.label if self.column is None else f"{self.label}, row {row}"


def find_inputs(names: Sequence[str], kind: InputKind, *, recursive: bool) -> list[Inputs]:
    """All inputs, in the order of `names`, those of a folder and of a glob by name; each file once.

    `names`: a file, a folder or a glob of files, the same of Parquet files, or a URI of one of these. Rows of a
    Parquet file come by its row groups. Raises InputError for what is not there, for a folder or a glob without inputs,
    and for a video or a camera.
    """
    first: dict[tuple[str, str, int], Inputs] = {}
    for name in names:
        for each in _of(str(name), kind, recursive=recursive):
            storage = each.label.removesuffix(each.path) if each.base else LOCAL
            first.setdefault((storage, each.path, each.group), each)
    return list(first.values())


def reached(names: Sequence[str]) -> dict[str, str]:
    """Of URIs: a storage's location, which may be shown, -> the URI, whose user, password and query open it.

    Raises InputError for two URIs that only differ in these.
    """
    uris: dict[str, str] = {}
    for name in filter(is_uri, names):
        location = without_password(name)
        if uris.setdefault(location, name) != name:
            raise InputError(f"{location}: is named twice, with another user, password or query; name it once")
    return uris


def _of(name: str, kind: InputKind, *, recursive: bool) -> Iterator[Inputs]:
    """What one name names."""
    storage = Storage(name)
    files = _files(storage, recursive=recursive)
    if tables := _tables(files, storage, kind):
        for path in tables:
            yield from _rows(storage, path)
    elif is_uri(name):
        paths = [path for path in files if path.lower().endswith(kind.suffixes)]
        if not paths:
            more = "" if recursive else "; --recursive also searches the folders in it"
            raise InputError(
                f"{storage.location}: no {kind.noun}s, expected files {', '.join(kind.suffixes)} or {TABLE}{more}"
            )
        yield from (Inputs(storage.location, path, storage.label(path)) for path in paths)
    else:
        for source in find_sources(name, kind, recursive=recursive):
            if source.recording is not None:
                raise InputError(f"{source.label}: its frames come one after another; predict it without {USE}")
            yield Inputs("", str(Path(source.label).absolute()), source.label)


def _files(storage: Storage, *, recursive: bool) -> list[str]:
    """The files of a folder, of a pattern, or the one that it is; of what is no path of this machine, none.

    A pattern of a URI is in its last part. Raises InputError for a URI of nothing.
    """
    if storage.location in ("", "-") or "\0" in storage.location:
        return []
    folder, name = posixpath.split(storage.path)
    if not storage.is_local and has_magic(folder):
        raise InputError(f"{storage.location}: a pattern in the name of a folder; name the folder, with --recursive")
    if not storage.is_local and has_magic(name):
        return [path for path in storage.listed(folder) if fnmatchcase(posixpath.basename(path), name)]
    place = storage.kind()
    if place == "folder":
        return storage.listed(recursive=recursive)
    if place == "file":
        return [storage.path]
    if storage.is_local:
        matches = (Path(match).absolute() for match in glob(storage.location, recursive=True))  # noqa: PTH207 - any root
        return sorted(str(match) for match in matches if match.is_file())
    raise InputError(f"{storage.location}: no such file or folder; check the name")


def _tables(files: list[str], storage: Storage, kind: InputKind) -> list[str]:
    """The Parquet files among the files of a location. Raises InputError where files of inputs are as well."""
    tables = [path for path in files if path.endswith(TABLE)]
    if tables and any(path.lower().endswith(kind.suffixes) for path in files):
        raise InputError(
            f"{storage.location}: has Parquet files as well as {kind.noun} files; name one of them, by a pattern such "
            f"as *{kind.suffixes[0]} or *{TABLE}"
        )
    return tables


def _rows(storage: Storage, path: str) -> Iterator[Inputs]:
    """The rows of a Parquet file, by its footer alone."""
    library = optional_library("pyarrow.parquet", EXTRA, USE)
    label = storage.label(path)
    try:
        with library.ParquetFile(path, filesystem=storage.files) as table:
            schema, metadata = table.schema_arrow, table.metadata
    except (ValueError, OSError) as error:
        raise InputError(f"{label}: not a Parquet file that can be read; give a whole one") from error
    column = _column(schema, label)
    base = "" if storage.is_local else storage.location
    row = 0
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        yield Inputs(base, path, label, size, column, group, 0, row)
        row += size


def _column(schema: Any, label: str) -> str:
    """The one column with contents of files."""
    types = optional_library("pyarrow.types", EXTRA, USE)

    def is_content(kind: Any) -> bool:
        return bool(types.is_binary(kind) or types.is_large_binary(kind))

    columns = [field.name for field in schema if is_content(field.type)]
    for field in schema:
        if types.is_struct(field.type) and field.type.get_field_index(NESTED) >= 0:
            columns += [f"{field.name}.{NESTED}"] * is_content(field.type.field(NESTED).type)
    if len(columns) != 1:
        what = f"{len(columns)} columns of bytes ({', '.join(columns)})" if columns else "no column of bytes"
        raise InputError(f"{label}: {what}, expected one with the contents of image files; select the others away")
    return str(columns[0])
