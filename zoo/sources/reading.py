"""From sources to inputs, one after another."""

from collections.abc import Callable, Collection, Iterable, Iterator

from zoo.errors import InputError
from zoo.input_kinds import InputKind
from zoo.sources.item import Item
from zoo.sources.source import Source

Skip = Callable[[Source], Collection[int] | None]
"""Which frames of a source are not wanted; None for the whole source."""


def read_items(sources: Iterable[Source], kind: InputKind, skip: Skip = lambda _: ()) -> Iterator[Item]:
    """An item for each input, and for each fault; what comes after a fault is read nevertheless.

    Raises InputError where a live source cannot be opened: there is nothing to go on with.
    """
    for source in sources:
        unwanted = skip(source)
        if unwanted is None:
            continue
        if source.recording is None:
            yield _of_file(source, kind)
            continue
        try:
            for frame, value in source.recording.frames(unwanted):
                yield Item(source, frame, value)
        except InputError as error:
            if source.live:
                raise
            yield Item(source, fault=str(error))


def _of_file(source: Source, kind: InputKind) -> Item:
    try:
        return Item(source, value=kind.read(source.label))
    except (InputError, OSError) as error:
        return Item(source, fault=str(error))
