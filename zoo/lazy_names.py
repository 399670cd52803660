"""Public names of a package that load when they are used (PEP 562): importing the package stays cheap."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: The package's `__name__`.
        modules: Public name to the module that defines it under the same name.
    """

    def load_name(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    def list_names() -> list[str]:
        return sorted(modules)

    return load_name, list_names
