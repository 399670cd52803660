"""From the places of inputs to the inputs themselves, on the machine that computes them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from backends.scale.contents import Content, contents
from backends.scale.inputs import Inputs
from backends.scale.storage import Storage
from zoo.errors import InputError
from zoo.input_kinds import MAX_BYTES, InputKind
from zoo.sources import Item, Source

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
            value = kind.decode(_content(each, kind, uris), each.label) if each.base else kind.read(each.path)
        except InputError as error:
            yield Item(source, fault=str(error).replace(each.path, each.label) if not each.base else str(error))
        except FileNotFoundError:
            yield Item(source, fault=f"{kind.noun} {each.label}: no such file")
        except (OSError, UnicodeError) as error:  # pyarrow takes no name that is not UTF-8
            reason = " ".join(str(getattr(error, "strerror", None) or error).split())
            yield Item(source, fault=f"{kind.noun} {each.label}: cannot be read ({reason})")
        except MemoryError:
            yield Item(source, fault=f"{kind.noun} {each.label}: there is not enough memory to read it")
        else:
            yield Item(source, value=value)


def _storage(inputs: Inputs, uris: Mapping[str, str]) -> Storage:
    return _opened(uris.get(inputs.base, inputs.base) or inputs.path)


def _content(inputs: Inputs, kind: InputKind, uris: Mapping[str, str]) -> bytes:
    """Of a file on a storage. Raises InputError for a larger one than any image is, without reading it."""
    with _storage(inputs, uris).files.open_input_file(inputs.path) as file:
        _check_size(file.size(), kind, inputs.label)
        content: bytes = file.read()
    return content


def _read_rows(inputs: Inputs, kind: InputKind, uris: Mapping[str, str]) -> Iterator[Item]:
    """A row is a frame of its file. From the first that cannot be read, all have the same fault."""
    source = Source(inputs.label, inputs.label)
    rows = iter(range(inputs.row, inputs.row + inputs.images))
    try:
        for content, row in zip(contents(inputs, _storage(inputs, uris)), rows, strict=False):
            yield _row_item(source, row, content, kind)
    except InputError as error:
        yield from (Item(source, row, fault=f"{kind.noun} {inputs.label}, row {row}: {error}") for row in rows)


def _row_item(source: Source, row: int, content: Content, kind: InputKind) -> Item:
    label = f"{source.label}, row {row}"
    try:
        _check_size(content.size, kind, label)
        return Item(source, row, kind.decode(content.value, label))
    except InputError as error:
        return Item(source, row, fault=str(error))
    except MemoryError:
        return Item(source, row, fault=f"{kind.noun} {label}: there is not enough memory to read it")


def _check_size(size: int, kind: InputKind, label: str) -> None:
    if size > MAX_BYTES:
        raise InputError(f"{kind.noun} {label}: {size} bytes, expected the content of one file, at most {MAX_BYTES}")
