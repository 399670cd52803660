"""A deployment's folder that is held open: all that is read of it belongs together (torch-free).

A redeploy exchanges the folder at a path in one step, and removes the old one. Who opens the files by path may get the
manifest of one and the graph of the other. A descriptor stays with one folder, and a file that was opened stays whole.
"""

import os
import stat
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from zoo.errors import ExportError, InputError
from zoo.opened_file import DESCRIPTORS, OpenedFile

T = TypeVar("T")
MANIFEST_FILE = "deployment.json"
ATTEMPTS = 100  # an attempt fails within the first tenths of a millisecond, or not at all
BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")


class OpenedFolder:
    """The folder that is at `path` now. A context manager; closing it closes its files.

    Where the system has no descriptors of folders, files are opened by path: hashes then tell what does not belong
    together, and is_current whether that was a redeploy. Raises InputError where there is no such folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._held = ExitStack()
        self._files: dict[str, OpenedFile] = {}
        self._descriptor: int | None = None
        give = f"give the folder with {MANIFEST_FILE} that zooport deploy wrote"
        try:
            if BY_DESCRIPTOR:
                # O_PATH: as with a path, leave to look into the folder is enough; it need not be listed
                self._descriptor = os.open(self.path, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
                self._held.callback(os.close, self._descriptor)
            self._stat = self.path.stat() if self._descriptor is None else os.fstat(self._descriptor)
        except NotADirectoryError as error:
            raise InputError(f"{self.path}: is a file; {give}") from error
        except FileNotFoundError as error:
            raise InputError(f"{self.path}: no such folder; {give}") from error
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise InputError(f"{self.path}: cannot be read ({getattr(error, 'strerror', error)}); {give}") from error
        if not stat.S_ISDIR(self._stat.st_mode):
            raise InputError(f"{self.path}: is a file; {give}")

    def file(self, name: str) -> OpenedFile:
        """A file of the folder, held open from its first use on, and closed with the folder. Raises as OpenedFile."""
        if name not in self._files:
            opened = OpenedFile(self.path / name, self._descriptor, name)
            self._files[name] = self._held.enter_context(opened)
        return self._files[name]

    def has(self, name: str) -> bool:
        """Whether anything in the folder has this name, of whatever kind."""
        if name in self._files:
            return True
        try:
            os.lstat(self.path / name) if self._descriptor is None else os.lstat(name, dir_fd=self._descriptor)
        except (OSError, ValueError):
            return False
        return True

    def names(self, folder: str) -> list[str]:
        """What is in a folder of this folder, sorted; nothing where there is no such."""
        descriptor = None
        try:
            if self._descriptor is not None:
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._descriptor)
            with os.scandir(self.path / folder if descriptor is None else descriptor) as entries:
                return sorted(entry.name for entry in entries)
        except OSError:
            return []
        finally:
            if descriptor is not None:
                os.close(descriptor)

    @property
    def link(self) -> Path:
        """A path that leads to this very folder where the system has such, else its path."""
        link = f"{DESCRIPTORS}/{self._descriptor}"
        return Path(link) if self._descriptor is not None and Path(DESCRIPTORS).is_dir() else self.path

    def is_current(self) -> bool:
        """Whether this folder is still the one at the path."""
        try:
            return os.path.samestat(self.path.stat(), self._stat)
        except OSError:
            return False

    def close(self) -> None:
        """Let go of the folder and its files. A second call does nothing."""
        self._held.close()
        self._files.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


Folder = str | os.PathLike[str] | OpenedFolder


def read_whole(folder: Folder, read: Callable[[OpenedFolder], T]) -> T:
    """`read` of a folder, all of one deployment: begun again where another took the folder's place meanwhile.

    Files that `read` had not opened yet may be gone then, so its error is that of a folder that is no more; where the
    folder is still at its path, the error is true and raised. Gives up after ATTEMPTS. A folder that is held open
    already is read as it is: its holder begins again.
    """
    if isinstance(folder, OpenedFolder):
        return read(folder)
    for _ in range(ATTEMPTS):
        with OpenedFolder(folder) as opened:
            try:
                return read(opened)
            except (InputError, ExportError):
                if opened.is_current():
                    raise
    raise InputError(f"{folder}: was replaced {ATTEMPTS} times while it was read; wait for the deploys, then try again")
