"""Values of a codebase's config, each checked where it is read: another kind is refused in one line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.codebases.known_keys import refusal
from zoo.errors import InputError

CHANNELS = 3
CORRECT = "correct it"
_REQUIRED = object()


@dataclass(frozen=True)
class Kind:
    """What a value must be: in words, and the test."""

    words: str
    fits: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _are(value: Any, test: Callable[[Any], bool], count: int) -> bool:
    return isinstance(value, list | tuple) and len(value) == count and all(map(test, value))


SECTION = Kind("a dict", lambda value: isinstance(value, Mapping))
LIST = Kind("a list", lambda value: isinstance(value, list | tuple) and len(value) > 0)
TEXT = Kind("a string", lambda value: isinstance(value, str))
NUMBER = Kind("a number", _is_number)
COUNT = Kind("an integer, 1 or more", _is_count)
SIDES = Kind("two integers, 1 or more: (height, width)", lambda value: _are(value, _is_count, 2))
PER_CHANNEL = Kind(
    "three numbers: zooport reads images of three channels", lambda value: _are(value, _is_number, CHANNELS)
)
PADDING = Kind("a number, or three of them", lambda value: _is_number(value) or _are(value, _is_number, CHANNELS))
SECTIONS = Kind(
    "a dict, or a list of them",
    lambda value: SECTION.fits(value) or (LIST.fits(value) and all(map(SECTION.fits, value))),
)


def read(fields: Mapping[str, Any], key: str, kind: Kind, where: str, default: Any = _REQUIRED) -> Any:
    """The value of a key; `default` where it is missing or None. `where` names the section in messages.

    Raises InputError for a value of another kind, and where one is missing that has no default.
    """
    value = fields.get(key)
    if value is None and default is not _REQUIRED:
        return default
    if value is None:
        raise InputError(f"{where}: no {key}, expected {kind.words}; add it")
    if not kind.fits(value):
        raise refusal(where, key, value, kind.words, CORRECT)
    return value
