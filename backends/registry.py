"""Which backends there are: zooport's own, found in its folders, and those of others.

A backend of others registers itself when its module is imported. That is the import that a config's `custom_imports`
names, or an entry point of the group `zooport.backends`, which is named after the backend and leads to the module.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from backends.backend import Backend
from zoo.dialect import register_dialect
from zoo.entry_points import load_entry_point, load_entry_points
from zoo.errors import InputError, nearest
from zoo.subpackages import import_subpackage, import_subpackages

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "zooport.backends"
"""The group of entry points of other packages; each is named after its backend."""
SHIPPED = "backends"
"""Every folder of it that is a backend registers it."""

_BACKENDS: dict[str, Backend] = {}


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
    import_subpackage(SHIPPED, name)
    if name not in _BACKENDS:
        from importlib.metadata import entry_points

        for entry in entry_points(group=ENTRY_POINTS, name=name):
            _load(entry)
    if name not in _BACKENDS:
        raise InputError(f'unknown backend "{name}"; {nearest(str(name), backends())}')
    return _BACKENDS[name]


def backends() -> Mapping[str, Backend]:
    """All by their names, sorted. An entry point that cannot be imported is logged as a warning, and left out."""
    import_subpackages(SHIPPED)
    load_entry_points(ENTRY_POINTS, _load)
    return MappingProxyType(dict(sorted(_BACKENDS.items())))


def _class(backend: Backend) -> tuple[str, str]:
    return type(backend).__module__, type(backend).__qualname__


def _load(entry: "EntryPoint") -> None:
    load_entry_point(entry)
    if entry.name not in _BACKENDS:
        raise InputError(
            f"backend {entry.name}: its entry point {entry.value} registers no backend of that name; call "
            "backends.register in that module"
        )
