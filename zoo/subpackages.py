"""Importing every folder of a package, so that what registers itself in one is found without a list."""

from importlib import import_module
from pkgutil import iter_modules


def import_subpackages(name: str) -> None:
    """Import the packages below a package, at any depth."""
    package = import_module(name)
    for module in iter_modules(package.__path__, f"{name}."):
        if module.ispkg:
            import_subpackages(module.name)
