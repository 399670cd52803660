"""From the places of inputs to the inputs themselves, on the machine that computes them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from types import MappingProxyType

from backends.scale.inputs import NESTED, Inputs
from backends.scale.storage import EXTRA, USE, Storage
from zoo.errors import InputError
from zoo.input_kinds import InputKind
from zoo.optional_library import optional_library
from zoo.sources import Item, Source

CONTENTS_AT_ONCE = 16
NONE: Mapping[str, str] = MappingProxyType({})


@lru_cache(maxsize=8)
def _opened(location: str) -> Storage:
    return Storage(location)


def read_inputs(inputs: Iterable[Inputs], kind: InputKind, uris: Mapping[str, str] = NONE) -> Iterator[Item]:
    """One item for each image, with its value or the fault of its file. `uris`: see `inputs.reached`."""
    for each in inputs:
        if each.column is not None:
            yield from _read_rows(each, kind, uris)
            continue
        source = Source(each.label, each.label)
        try:
            value = kind.decode(_content(each, uris), each.label) if each.base else kind.read(each.path)
        except InputError as error:
            yield Item(source, fault=str(error).replace(each.path, each.label) if not each.base else str(error))
        except FileNotFoundError:
            yield Item(source, fault=f"{kind.noun} {each.label}: no such file")
        except OSError as error:
            reason = " ".join(str(error.strerror or error).split())
            yield Item(source, fault=f"{kind.noun} {each.label}: cannot be read ({reason})")
        else:
            yield Item(source, value=value)


def _storage(inputs: Inputs, uris: Mapping[str, str]) -> Storage:
    return _opened(uris.get(inputs.base, inputs.base) or inputs.path)


def _content(inputs: Inputs, uris: Mapping[str, str]) -> bytes:
    with _storage(inputs, uris).files.open_input_stream(inputs.path) as stream:
        content: bytes = stream.read()
    return content


def _read_rows(inputs: Inputs, kind: InputKind, uris: Mapping[str, str]) -> Iterator[Item]:
    """A row is a frame of its file."""
    source = Source(inputs.label, inputs.label)
    for row, content in enumerate(_contents(inputs, uris), inputs.row):
        label = f"{inputs.label}, row {row}"
        try:
            yield Item(source, row, kind.decode(content or b"", label))
        except InputError as error:
            yield Item(source, row, fault=str(error))


def _contents(inputs: Inputs, uris: Mapping[str, str]) -> Iterator[bytes | None]:
    """The values of the column, few of them in memory at a time. Raises OSError if the file is gone."""
    library = optional_library("pyarrow.parquet", EXTRA, USE)
    with library.ParquetFile(inputs.path, filesystem=_storage(inputs, uris).files) as table:
        batches = table.iter_batches(CONTENTS_AT_ONCE, row_groups=[inputs.group], columns=[inputs.column])
        values = (value for batch in batches for value in batch.column(0).to_pylist())
        for value in islice(values, inputs.first, inputs.first + inputs.images):
            yield value[NESTED] if isinstance(value, dict) else value
