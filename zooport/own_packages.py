"""zooport's packages have common names: does Python find zooport's own, or another one that hides it?"""

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("zoo", "rewriters", "backends", "pipeline")
ROOT = Path(__file__).resolve().parents[1]
"""The folder of zooport's packages: that of an installation, or a checkout."""


class HiddenPackageError(ImportError):
    """Something else hides a package of zooport. No ZooportError: those are in a package that may be the hidden one."""

    exit_code = 2


def check_packages() -> None:
    """Raises HiddenPackageError where Python finds another package or module under the name of one of zooport's."""
    for name in PACKAGES:
        expected, actual = ROOT / name, _location(name)
        if actual is not None and actual.resolve() != expected:
            raise HiddenPackageError(
                f"{actual} hides zooport's own package {expected}; rename it, or take {actual.parent} off Python's "
                "path (the folder of the script that runs, or PYTHONPATH)",
                name=name,
            )


def _location(name: str) -> Path | None:
    """The folder of a package, the file of a module, None for what is nowhere: importing it says so."""
    loaded = sys.modules.get(name)
    spec = find_spec(name) if loaded is None else loaded.__spec__
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return None if spec.origin is None else Path(spec.origin)
