"""The versions of installed packages."""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """By the names of the packages on PyPI, in their order; without those that are not installed."""
    installed = {package: _installed_version(package) for package in dict.fromkeys(packages)}
    return {package: number for package, number in installed.items() if number is not None}


@cache
def _installed_version(package: str) -> str | None:
    """None where it is not installed. Each is read once: a deploy asks several times."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
