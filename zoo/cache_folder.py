"""Where zooport keeps what it can make again (torch-free)."""

import os
from pathlib import Path

from zoo.errors import InputError


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/zooport, or ~/.cache/zooport; a relative $XDG_CACHE_HOME does not count. It need not be there.

    Raises InputError where there is no home, or a relative one.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        base = _home() / ".cache"
    return base / "zooport"


def _home() -> Path:
    named = os.environ.get("HOME")
    try:
        home = Path.home() if named is None else Path(named)
    except RuntimeError:  # this user has none
        home = Path()
    if not home.is_absolute():
        got = "no home folder" if named is None else f'HOME="{named}"'
        raise InputError(f"no folder for the cache: got {got}; set XDG_CACHE_HOME to an absolute path")
    return home
