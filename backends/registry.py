"""Which backends there are: zooport's own, found in its folders, and those of others.

A backend of others registers itself when its module is imported. That is the import that a config's `custom_imports`
names, or an entry point of the group `zooport.backends`, which is named after the backend and leads to the module.
"""

import importlib
import importlib.util
import logging
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

import backends as package
from backends.backend import Backend
from zoo.dialect import register_dialect
from zoo.errors import InputError, nearest

GROUP = "zooport.backends"
_BACKENDS: dict[str, Backend] = {}

logger = logging.getLogger(__name__)


def register(backend: Backend) -> Backend:
    """Add a backend to those there are; gives it back. Raises InputError where another one has its name."""
    other = _BACKENDS.get(backend.name)
    if other is not None and _class(other) != _class(backend):  # a module that is imported again makes it anew
        raise InputError(
            f'backend "{backend.name}" of {type(backend).__module__}: {type(other).__module__} has registered that '
            "name; choose another one"
        )
    _BACKENDS[backend.name] = backend
    register_dialect(backend.name, backend.dialect)
    return backend


def get_backend(name: str) -> Backend:
    """The backend of that name. Raises InputError that names the nearest where there is none."""
    _find_own()
    if name not in _BACKENDS:
        for entry in entry_points(group=GROUP):
            if entry.name == name:
                _load(entry)
    if name not in _BACKENDS:
        raise InputError(f'unknown backend "{name}"; {nearest(str(name), backends())}')
    return _BACKENDS[name]


def backends() -> Mapping[str, Backend]:
    """All by their names, sorted. An entry point that cannot be imported is logged as a warning, and left out."""
    _find_own()
    for entry in entry_points(group=GROUP):
        if entry.name not in _BACKENDS:
            try:
                _load(entry)
            except InputError as error:
                logger.warning("%s", error)
    return MappingProxyType(dict(sorted(_BACKENDS.items())))


def _class(backend: Backend) -> tuple[str, str]:
    return type(backend).__module__, type(backend).__qualname__


@cache
def _find_own() -> None:
    """The modules `backend` in the folders of this package register what is in them."""
    for folder in pkgutil.iter_modules(package.__path__):
        module = f"{package.__name__}.{folder.name}.backend"
        if folder.ispkg and importlib.util.find_spec(module) is not None:
            importlib.import_module(module)


def _load(entry: EntryPoint) -> None:
    try:
        entry.load()
    except Exception as error:  # anybody's code
        reason = " ".join(str(error).split())
        raise InputError(
            f"backend {entry.name}: its entry point {entry.value} cannot be imported ({type(error).__name__}: "
            f"{reason}); install what it needs, or uninstall it"
        ) from error
    if entry.name not in _BACKENDS:
        raise InputError(
            f"backend {entry.name}: its entry point {entry.value} registers no backend of that name; call "
            "backends.register in that module"
        )
