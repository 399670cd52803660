"""From sources to inputs, one after another."""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator

from zoo.errors import InputError
from zoo.input_kinds import InputKind
from zoo.sources.item import Item
from zoo.sources.source import Source

Skip = Callable[[Source], Collection[int] | None]
"""Which frames of a source are not wanted; None for the whole source."""


def list_items(sources: Iterable[Source], skip: Skip = lambda _: ()) -> Iterator[Item]:
    """An item for each input, and for each fault; what comes after a fault is listed nevertheless.

    Frames of recordings are read, because they come one after another; a file is not, see `read_item`.
    Raises InputError where a live source cannot be opened: there is nothing to go on with.
    """
    for source in sources:
        unwanted = skip(source)
        if unwanted is None:
            continue
        if source.recording is None:
            yield Item(source)
            continue
        try:
            for frame, value in source.recording.frames(unwanted):
                yield Item(source, frame, value)
        except InputError as error:
            if source.live:
                raise
            yield Item(source, fault=str(error))


def read_item(item: Item, kind: InputKind) -> Item:
    """The item with its value, or with the fault of its file. Threads may read several at once."""
    if not item.unread:
        return item
    try:
        return Item(item.source, value=kind.read(item.source.label))
    except (InputError, OSError) as error:
        return Item(item.source, fault=str(error))
    except MemoryError:
        return Item(item.source, fault=f"{kind.noun} {item.source.label}: there is not enough memory to read it")


def read_items(items: Iterable[Item], kind: InputKind) -> Generator[Item, None, None]:
    """The items of `list_items`, read one after another. When it is closed, so are they."""
    try:
        for item in items:
            yield read_item(item, kind)
    finally:
        if isinstance(items, Generator):
            items.close()
