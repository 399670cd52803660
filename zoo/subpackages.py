"""Importing every folder, or file, of a package, so that what registers itself in one is found without a list."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules


@cache
def import_subpackages(name: str, *, deep: bool = False) -> None:
    """Import, once in a process, the packages directly below a package; with `deep`, those at any depth."""
    package = import_module(name)
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
