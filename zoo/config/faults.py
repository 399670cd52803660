"""What can be wrong with any section of a config, as parts of one message."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from zoo.errors import InputError, nearest

Kinds = Mapping[str, type | tuple[type, ...]]
"""The type, or types, of each key of a section."""


def unknown_keys(what: str, section: Mapping[str, Any], known: Iterable[str]) -> Iterable[str]:
    """Keys that are not known, each with the nearest ones. ``what`` begins the message: "key", "key export."."""
    for key in section:
        if key not in known:
            yield f'unknown {what}{"" if what.endswith(".") else " "}"{key}"; {nearest(key, known)}'


def wrong_types(prefix: str, section: Mapping[str, Any], kinds: Kinds) -> Iterable[str]:
    """Values of another type than expected. ``prefix`` begins their names: "export."."""
    for key, value in section.items():
        kind = kinds.get(key)
        if kind is not None and not isinstance(value, kind):
            names = [k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,))]
            yield f'"{prefix}{key}": expected {" or ".join(names)}, got {type(value).__name__}'


def raised(check: Callable[[Any], object], value: object) -> Iterable[str]:
    """The message of the InputError that the check of a value raises, if it does."""
    try:
        check(value)
    except InputError as error:
        yield str(error)
