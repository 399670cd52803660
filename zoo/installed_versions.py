"""The versions of installed packages."""

import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """By the names of the packages on PyPI, in their order; without those that are not installed.

    Several distributions may bring one module, as onnxruntime-gpu brings onnxruntime: what is imported counts.
    """
    installed = {package: _imported(package) or _installed_version(package) for package in dict.fromkeys(packages)}
    return {package: number for package, number in installed.items() if number is not None}


def _imported(package: str) -> str | None:
    """Of a module that is imported, where it is not that of the distribution of its name; without a build's label."""
    own = getattr(sys.modules.get(package), "__dict__", {}).get("__version__")  # some modules warn when it is asked for
    if not isinstance(own, str):
        return None
    found, number = _installed_version(package), re.split("[+-]", own)[0]
    return None if found is not None and found.partition("+")[0] == number else number


@cache
def _installed_version(package: str) -> str | None:
    """None where it is not installed. Each is read once: a deploy asks several times."""
    try:
        return version(package)
    except PackageNotFoundError:
        others = _distributions().get(package) if package.isidentifier() else None  # the name of a module
        return version(others[0]) if others else None


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Of each module that is installed. It reads the records of them all."""
    return packages_distributions()
