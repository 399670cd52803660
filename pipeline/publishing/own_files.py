"""Which files of a deployment's folder are the deployment's own: what zooport writes there. The rest is the user's."""

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

from backends.registry import backends
from zoo.errors import InputError
from zoo.manifest import MANIFEST_BYTES, ONNX_FILE, SELF_TEST_FILE
from zoo.opened_file import OpenedFile
from zoo.opened_folder import MANIFEST_FILE

PARITY_FILE = "parity.json"
REPORT_FILE = "report.html"
PREVIEWS = "previews"
KNOWN = (MANIFEST_FILE, ONNX_FILE, SELF_TEST_FILE, PARITY_FILE, REPORT_FILE)
PREVIEW = re.compile(r"\d{2,}-[A-Za-z0-9_-]+\.png")
SYSTEMS = re.compile(r"\.DS_Store|\.nfs[0-9a-f]+")  # what macOS keeps of a folder's view, NFS of a file still in use


class Entry(NamedTuple):
    """What lies in a folder. ``name`` is relative to it."""

    name: PurePath
    is_folder: bool
    own: bool


def foreign_files(folder: Path) -> list[str]:
    """What lies in ``folder`` and is not the deployment's own, by its name in it; that of a folder ends in "/".

    The deployment's own: the names that every deployment has, those that its manifest lists in ``files``, and previews
    as zooport names them. Where the manifest cannot be read, those that any backend builds. Raises OSError where the
    folder cannot be read.
    """
    return [f"{entry.name}/" if entry.is_folder else str(entry.name) for entry in _entries(folder) if not entry.own]


def remove_own(folder: Path) -> bool:
    """Remove the deployment's own files from ``folder``, and the folder itself where it is empty then.

    Gives whether the folder is gone. The manifest goes last: until then it says what belongs to the deployment. Raises
    OSError where the folder cannot be read, or a file of it not be removed.
    """
    entries = [entry for entry in _entries(folder) if entry.own]
    for entry in sorted(entries, key=lambda entry: entry.name == PurePath(MANIFEST_FILE)):
        if not entry.is_folder:
            (folder / entry.name).unlink(missing_ok=True)
    for entry in reversed(entries):
        if entry.is_folder:
            _remove_empty(folder / entry.name)
    return _remove_empty(folder)


def _entries(folder: Path) -> Iterator[Entry]:
    """Everything in ``folder``; of folders that are the user's, the folder alone. No link is followed."""
    files = {PurePath(name) for name in (*KNOWN, *_listed(folder / MANIFEST_FILE))}
    folders = {PurePath(PREVIEWS), *(parent for name in files for parent in name.parents)}
    waiting = [folder]
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            name = path.relative_to(folder)
            if path.is_dir() and not path.is_symlink():
                is_own = name in folders
                if is_own:
                    waiting.append(path)
                yield Entry(name, is_folder=True, own=is_own)
            else:
                is_preview = name.parent == PurePath(PREVIEWS) and PREVIEW.fullmatch(name.name) is not None
                is_own = name in files or is_preview or SYSTEMS.fullmatch(name.name) is not None
                yield Entry(name, is_folder=False, own=is_own)


def _listed(manifest: Path) -> list[str]:
    """The names in a manifest's ``files``, of whatever version it is; where it cannot be read, what backends build."""
    try:
        with OpenedFile(manifest) as file:
            files = json.loads(file.read(MANIFEST_BYTES))["files"]
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        files = None
    if isinstance(files, dict):
        return list(files)
    return [name for backend in backends().values() for name in backend.files]


def _remove_empty(folder: Path) -> bool:
    """Whether the folder is gone; one that still holds something stays."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
