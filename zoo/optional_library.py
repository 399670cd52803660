"""Libraries of an extra: imported when they are used, and named where they are missing."""

from importlib import import_module
from typing import Any

from zoo.errors import BackendUnavailableError


def optional_library(name: str, extra: str, use: str) -> Any:
    """The module. Raises BackendUnavailableError that says which `use` needs it, and what to install."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        library = name.partition(".")[0]
        if error.name != library:
            raise
        raise BackendUnavailableError(
            f'{library} is not installed, and {use} needs it: pip install "zooport[{extra}]"'
        ) from error
