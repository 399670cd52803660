"""Checking what a config gives to a class that a registry builds, before it is built."""

import inspect
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zoo.errors import nearest


def wrong_arguments(kind: type[Any], options: Mapping[str, Any], arguments: tuple[str, ...] = ()) -> Iterator[str]:
    """What is wrong with keyword arguments of a class: unknown ones, missing ones, and values of another type.

    `arguments`: parameters that somebody else fills in. What a class takes as `**options` is not a config's business.
    """
    hints = typing.get_type_hints(kind.__init__)
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(kind).parameters.items()
        if name not in arguments and parameter.kind is not parameter.VAR_KEYWORD
    }
    for name, value in options.items():
        if name not in parameters:
            hint = f"; {nearest(name, parameters)}" if parameters else "; it takes none"
            yield f'unknown argument "{name}"{hint}'
        elif not _fits(value, hints.get(name, Any)):
            yield f'argument "{name}": got {value!r}, expected {_names(hints[name])}'
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in options:
            yield f'argument "{name}" is missing'


def path_arguments(kind: type[Any]) -> list[str]:
    """The parameters of a class that may be a pathlib.Path."""
    hints = typing.get_type_hints(kind.__init__)
    return [name for name, hint in hints.items() if Path in (typing.get_args(hint) or (hint,))]


def _fits(value: object, hint: Any) -> bool:
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    try:
        return isinstance(value, hint)
    except TypeError:  # a hint that says more than a class, such as list[int]: the class's own affair
        return True


def _names(hint: Any) -> str:
    """A type or union of types, in words."""
    kinds = typing.get_args(hint) or (hint,)
    return " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
