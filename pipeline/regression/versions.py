"""The versions that a cell's outcome depends on. Loads no library."""

import platform
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

DISTRIBUTION = "zooport"
DEVELOPERS = "dev"  # an extra that no figure depends on


def versions() -> dict[str, str]:
    """Of Python, zooport and what it requires with all extras but the developers'; without what is not installed."""
    found = {"python": platform.python_version()}
    try:
        required = [Requirement(line) for line in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        required = []
    names = [entry.name for entry in required if not (entry.marker and f'"{DEVELOPERS}"' in str(entry.marker))]
    for name in dict.fromkeys((DISTRIBUTION, *names)):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
