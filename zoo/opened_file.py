"""A file that is held open: what is hashed is what is loaded, whatever its name leads to meanwhile (torch-free)."""

import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from zoo.errors import InputError

COPY_AGAIN = "copy the deployment again, or deploy the model again with zooport deploy"
BLOCK = 2**17  # bytes read at once: they stay in a cache of the CPU
DESCRIPTORS = "/proc/self/fd"
# O_NONBLOCK: a pipe is not waited for, should it take the file's place between the look and the opening
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class OpenedFile:
    """A regular file, opened for reading; links are followed. A context manager; threads may share it.

    `path`: for messages. `size`: in bytes, when it was opened. `folder`: the descriptor of the folder that `name` is
    relative to; None where there are none, or for a path. Raises InputError where there is no such file, it cannot be
    read, or is of another kind: nothing that is not a regular file is opened, as a pipe or a device has no end.
    """

    def __init__(self, path: str | os.PathLike[str], folder: int | None = None, name: str | None = None) -> None:
        self.path = Path(path)
        place = os.fspath(path) if folder is None or name is None else name
        try:
            _check_kind(self.path, os.stat(place, dir_fd=folder))
            self._descriptor = os.open(place, FLAGS, dir_fd=folder)
        except FileNotFoundError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror}); {COPY_AGAIN}") from error
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise InputError(
                f"{self.path}: cannot be read ({getattr(error, 'strerror', error)}); {COPY_AGAIN}"
            ) from error
        try:
            status = os.fstat(self._descriptor)
            _check_kind(self.path, status)
        except InputError:
            os.close(self._descriptor)
            raise
        self.size = status.st_size
        self._lock = threading.Lock()
        self._hashing = threading.Lock()
        self._sha256: str | None = None
        self._closed = False

    @property
    def link(self) -> str | None:
        """A path that leads to this very file, also when its name is gone; None where the system has none such."""
        return f"{DESCRIPTORS}/{self._descriptor}" if Path(DESCRIPTORS).is_dir() else None

    def sha256(self) -> str:
        """In hexadecimal; computed once. Raises InputError where the file cannot be read."""
        with self._hashing:
            if self._sha256 is None:
                digest = hashlib.sha256()
                for start in range(0, self.size, BLOCK):
                    digest.update(self._read_at(start, min(BLOCK, self.size - start)))
                self._sha256 = digest.hexdigest()
            return self._sha256

    def read(self, most: int | None = None) -> bytes:
        """The whole content. Raises InputError where it has more than `most` bytes, or cannot be read."""
        if most is not None and self.size > most:
            raise InputError(f"{self.path}: has {self.size} bytes, expected {most} at most; {COPY_AGAIN}")
        return self._read_at(0, self.size)  # at once: joining blocks would take the memory twice

    def contains(self, text: bytes) -> bool:
        """Whether `text` is anywhere in the content."""
        tail = b""
        for start in range(0, self.size, BLOCK):
            block = tail + self._read_at(start, min(BLOCK, self.size - start))
            if text in block:
                return True
            tail = block[len(block) - len(text) + 1 :]
        return False

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def _read_at(self, start: int, count: int) -> bytes:
        """`count` bytes, fewer where the file has become shorter. Threads share the descriptor's position."""
        parts = []
        try:
            with self._lock:
                os.lseek(self._descriptor, start, os.SEEK_SET)
                while count and (part := os.read(self._descriptor, count)):
                    parts.append(part)
                    count -= len(part)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror}); {COPY_AGAIN}") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Let go of the file. A second call does nothing."""
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def as_opened(file: str | os.PathLike[str] | OpenedFile) -> Iterator[OpenedFile]:
    """A file by its path, opened meanwhile; or one that is held open already, and stays so."""
    if isinstance(file, OpenedFile):
        yield file
    else:
        with OpenedFile(file) as opened:
            yield opened


def _check_kind(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
        raise InputError(f"{path}: is {kind}, expected a regular file; {COPY_AGAIN}")
