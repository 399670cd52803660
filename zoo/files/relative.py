"""Paths as a file names them: they start at its folder."""

import os
from pathlib import Path


def relative_to_file(path: str | Path, file: Path) -> str:
    """`path` from the folder of `file`. Links are resolved first, for ".." leads out of where a link leads to.

    The last part of `path` keeps its name, even if it is a link.
    """
    place = Path(path)
    if place.name in ("", ".."):
        place = place.resolve()
    return os.path.relpath(place.parent.resolve() / place.name, file.parent.resolve())
