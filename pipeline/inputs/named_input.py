"""Inputs from files, checked, with a name for reports."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from zoo.input_kinds import InputKind
from zoo.printable import printable


class NamedInput(NamedTuple):
    """``value``: as its kind has it, for images uint8 [h, w, 3] BGR.

    ``name`` for reports: the file's name without folders, printable.
    """

    name: str
    value: NDArray[Any]


def read_input(kind: InputKind, path: str | Path) -> NamedInput:
    """One input. Raises InputError, see InputKind.read."""
    return NamedInput(printable(Path(path).name), kind.read(path))


def input_of(kind: InputKind, item: Mapping[str, Any]) -> NamedInput:
    """That of a data set's item."""
    return NamedInput(printable(Path(item["path"]).name), item[kind.name])


def distinct(inputs: Sequence[NamedInput]) -> list[NamedInput]:
    """The inputs without those whose values came before."""
    seen: dict[tuple[tuple[int, ...], bytes], NamedInput] = {}
    for one in inputs:
        seen.setdefault((one.value.shape, one.value.tobytes()), one)
    return list(seen.values())
