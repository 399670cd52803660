"""Keys of a section: what is not known is refused by name, because it may change the model or its input."""

from collections.abc import Iterable, Mapping
from typing import Any

from zoo.errors import InputError, nearest

WRITE = "take it out of the config, or write the zooport config's preprocess by hand"


def check_keys(section: Mapping[str, Any], known: Iterable[str], where: str, cure: str) -> None:
    """Raises InputError for the first key that is not known, with the nearest ones."""
    known = tuple(known)
    for key in section:
        if key not in known:
            raise InputError(f'{where}: unknown key "{key}"; {nearest(str(key), known)}; {cure}')


def refusal(where: str, key: str, value: object, expected: str, cure: str = WRITE) -> InputError:
    """One line for a value that has no counterpart."""
    return InputError(f"{where}: {key} is {value!r}, expected {expected}; {cure}")
