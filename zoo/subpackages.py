"""Importing every folder, or file, of a package, so that what registers itself in one is found without a list."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from threading import RLock

_LOCKS: dict[str, RLock] = {}
"""Of each package. Folders import one another: threads that each import another one could wait for one another."""


@cache
def import_subpackage(name: str, folder: str) -> None:
    """Import, once in a process, the package `folder` directly below a package; all of them where there is none.

    `folder`: with "-" for "_", as names of tasks have it. For what is usually in the folder of its name, so that the
    others need not be imported.
    """
    below = folder.replace("-", "_")
    spec = find_spec(f"{name}.{below}") if below.isidentifier() else None
    if spec is None or spec.submodule_search_locations is None:
        import_subpackages(name)
        return
    with _LOCKS.setdefault(name, RLock()):
        import_module(spec.name)


@cache
def import_subpackages(name: str, *, deep: bool = False) -> None:
    """Import, once in a process, the packages directly below a package; with `deep`, those at any depth."""
    package = import_module(name)
    with _LOCKS.setdefault(name, RLock()):
        for module in iter_modules(package.__path__, f"{name}."):
            if module.ispkg:
                import_module(module.name)
                if deep:
                    import_subpackages(module.name, deep=True)


@cache
def import_modules(name: str) -> None:
    """Import, once in a process, the modules directly below a package."""
    package = import_module(name)
    for module in iter_modules(package.__path__, f"{name}."):
        import_module(module.name)
