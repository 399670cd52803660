"""Libraries of an extra: imported when they are used, and named where they are missing."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar

from zoo.errors import LibraryMissingError

Builder = TypeVar("Builder", bound=Callable[..., Any])
ATTRIBUTE = "needed_library"


class OptionalLibrary(NamedTuple):
    """`name`: as Python imports it. `extra`: the one of zooport that installs it."""

    name: str
    extra: str


def optional_library(name: str, extra: str, use: str) -> Any:
    """The module. Raises LibraryMissingError that says which `use` needs it, and what to install."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        library = name.partition(".")[0]
        if error.name != library:
            raise
        raise _missing(OptionalLibrary(library, extra), use) from error


def needs_library(name: str, extra: str) -> Callable[[Builder], Builder]:
    """Say of a model's class, its subclasses included, or of a function that builds models, what library it needs."""

    def decorate(builder: Builder) -> Builder:
        setattr(builder, ATTRIBUTE, OptionalLibrary(name, extra))
        return builder

    return decorate


def needed_library(builder: object) -> OptionalLibrary | None:
    """The library that `needs_library` names; None where it names none."""
    return getattr(builder, ATTRIBUTE, None)


def missing_library(builder: object, use: str) -> LibraryMissingError | None:
    """Why a builder cannot be used here; None where its library is installed, or it needs none."""
    library = needed_library(builder)
    return None if library is None or find_spec(library.name) else _missing(library, use)


def _missing(library: OptionalLibrary, use: str) -> LibraryMissingError:
    return LibraryMissingError(
        f'{library.name} is not installed, and {use} needs it: pip install "zooport[{library.extra}]"'
    )
