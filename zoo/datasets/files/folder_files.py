"""The files of a folder, and those that carry a pair's name."""

import os
from collections.abc import Iterator
from pathlib import Path

from zoo.datasets.files.faults import Faults


def files_below(folder: Path) -> Iterator[Path]:
    """The files in it and in all folders below it. Links to folders are followed, but for one to a folder around it.

    A folder that cannot be read is passed over. A link that leads nowhere is a file.
    """
    yield from _below(folder, ())


def _below(folder: Path, around: tuple[str, ...]) -> Iterator[Path]:
    real = os.path.realpath(folder)
    if real in around:
        return
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if _is_folder(entry):
                    yield from _below(folder / entry.name, (*around, real))
                else:
                    yield folder / entry.name
    except OSError:
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or into a folder that may not be searched
        return False


def files_by_name(folder: Path, pattern: str, ending: str, faults: Faults) -> dict[str, Path]:
    """Files of `folder` that match the glob `pattern`, by their path in it without `ending`; none is a fault."""
    if not folder.is_dir():
        faults.missing(folder, "folder")
        return {}
    files = {
        path.relative_to(folder).as_posix().removesuffix(ending): path for path in sorted(folder.glob(pattern + ending))
    }
    if not files:
        faults.add(folder, f"no files {pattern}{ending}")
    return files
