"""Checking what a config gives to a class that a registry builds, before it is built."""

import inspect
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import UnionType
from typing import Any

from zoo.errors import InputError, ZooportError, nearest
from zoo.own_code import reason_of


def wrong_arguments(kind: type[Any], options: Mapping[str, Any], arguments: tuple[str, ...] = ()) -> Iterator[str]:
    """What is wrong with keyword arguments of a class: unknown ones, missing ones, and values of another type.

    `arguments`: parameters that somebody else fills in. What a class takes as `**options` is not a config's business.
    """
    hints = _hints(kind)
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
    hints = _hints(kind)
    return [name for name, hint in hints.items() if Path in (typing.get_args(hint) or (hint,))]


@contextmanager
def building(what: str, cure: str = "check its arguments") -> Iterator[None]:
    """Whatever is raised while a class is built becomes an InputError: one of the user's own may raise anything."""
    try:
        yield
    except ZooportError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{what} cannot be built from its config: {reason_of(error)}; {cure}") from error


def _hints(kind: type[Any]) -> dict[str, Any]:
    """The types of a class's parameters, without those whose names Python does not know when the program runs."""
    hints: dict[str, Any] = {}
    for name, annotation in getattr(kind.__init__, "__annotations__", {}).items():
        alone = type(name, (), {"__annotations__": {name: annotation}})
        with suppress(Exception):  # a name that is imported for type checkers alone, or whatever a user has written
            hints |= typing.get_type_hints(alone, getattr(kind.__init__, "__globals__", {}))
    return hints


def _fits(value: object, hint: Any) -> bool:
    if isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union:
        return any(_fits(value, part) for part in typing.get_args(hint))
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
