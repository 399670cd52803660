"""Files on this machine, on shared storage, in S3, Google's Cloud Storage or HDFS: by the file systems of pyarrow.

pyarrow takes no name that is not UTF-8: what is on this machine is found without it.
"""

import os
import posixpath
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from zoo.addresses import unreadable, without_password
from zoo.errors import InputError
from zoo.optional_library import optional_library

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
EXTRA = "scale"
USE = "--engine ray"


def is_uri(text: str) -> bool:
    """Whether a location is a URI, and not a path."""
    return URI.match(text) is not None


class Storage:
    """A folder, or a file, and what is beside it. `location`: a path, or a URI as pyarrow takes it.

    Its own `location` is what may be shown and written down: of a URI without user, password and query.

    Raises InputError for a URI that pyarrow does not take; LibraryMissingError without pyarrow.
    """

    def __init__(self, location: str) -> None:
        self.location = without_password(location) if is_uri(location) else location
        library = optional_library("pyarrow.fs", EXTRA, USE)
        if not is_uri(location):
            self.path = str(Path(location).absolute())
            self.files = library.LocalFileSystem()
            self._prefix, self._on_this_machine = "", True
            return
        try:
            self.files, self.path = library.FileSystem.from_uri(location)
        except (ValueError, OSError) as error:  # ArrowInvalid is a ValueError
            shown = unreadable(location.partition("?")[0])
            reason = str(_line(error)).replace(location, shown)
            expected = "expected a path, or a URI such as s3://bucket/folder, with / of a password as %2F"
            raise InputError(f"{shown}: {reason}; {expected}") from error
        place = urlsplit(self.location)
        host = place.netloc if self.path.startswith("/") else ""  # a path in S3 begins with the bucket
        self._prefix = f"{place.scheme}://{host}"
        self._on_this_machine = isinstance(self.files, library.LocalFileSystem)

    @property
    def is_local(self) -> bool:
        """Whether it was named by a path."""
        return not is_uri(self.location)

    def label(self, path: str) -> str:
        """A path of these files as the user names it; of a URI without escapes, such as %20."""
        return self._prefix + path

    def child(self, name: str) -> str:
        """The path of a file in the folder."""
        return posixpath.join(self.path, name)

    def kind(self) -> str:
        """What there is: "file", "folder" or "nothing". Raises InputError where nobody can say."""
        kinds = {"File": "file", "Directory": "folder"}
        with self._readable():
            if self._on_this_machine:
                return _local_kind(self.path)
            return kinds.get(self.files.get_file_info(self.path).type.name, "nothing")

    def listed(self, folder: str | None = None, *, recursive: bool = False) -> list[str]:
        """The paths of all files in the folder (`folder`: another than its own), by name; hidden ones are left out.

        `recursive`: also of the folders in it; links to folders are not followed on this machine.
        """
        top = self.path if folder is None else folder
        with self._readable():
            return sorted(path for path in self._files(top, recursive) if not re.search(r"(^|/)\.", path[len(top) :]))

    def _files(self, folder: str, recursive: bool = False) -> list[str]:
        """The paths of all files, in no order; none of a folder that is not there. Raises OSError."""
        if self._on_this_machine:
            return list(_local_files(folder, recursive=recursive))
        selector = optional_library("pyarrow.fs", EXTRA, USE).FileSelector(
            folder, allow_not_found=True, recursive=recursive
        )
        return [entry.path for entry in self.files.get_file_info(selector) if entry.type.name == "File"]

    def read(self, name: str) -> bytes:
        """A whole file of the folder. Raises OSError."""
        with self.files.open_input_stream(self.child(name)) as stream:
            content: bytes = stream.read()
        return content

    def write(self, name: str, content: bytes) -> None:
        """A whole file of the folder, or none. Raises OSError."""
        with self.staged(name) as place, self.files.open_output_stream(place) as stream:
            stream.write(content)

    @contextmanager
    def staged(self, name: str) -> Iterator[str]:
        """A hidden file in the folder: what is written there moves to `name` in one step.

        An exception removes it; a process that is killed leaves it, and readers of the folder pass it over.
        """
        place = self.child(f".{secrets.token_hex(4)}.{name}")
        try:
            yield place
            self.files.move(place, self.child(name))
        except BaseException:
            self._remove(place)
            raise

    def make_folder(self) -> None:
        """With the folders above it. Raises InputError where it cannot be made."""
        try:
            self.files.create_dir(self.path, recursive=True)
        except (OSError, UnicodeError) as error:
            raise InputError(
                f"--out {self.location}: cannot be written ({_line(error)}); give another folder"
            ) from error

    def remove_staged(self) -> None:
        """What killed writers have left."""
        for path in self._files(self.path):
            if re.fullmatch(r"\.[0-9a-f]{8}\..*", posixpath.basename(path)):
                self._remove(path)

    def _remove(self, path: str) -> None:
        try:
            self.files.delete_file(path)
        except OSError:
            return

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, UnicodeError) as error:
            raise InputError(
                f"{self.location}: cannot be read ({_line(error)}); check its name and its rights"
            ) from error


def _local_kind(path: str) -> str:
    """See Storage.kind. Raises OSError."""
    try:
        mode = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "nothing"
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "nothing"


def _local_files(folder: str, *, recursive: bool) -> Iterator[str]:
    """The paths of the files in a folder. Raises OSError."""

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if recursive and not name.startswith(".")]
        yield from (path for name in names if Path(path := posixpath.join(parent, name)).is_file())


def _line(error: Exception) -> Any:
    return getattr(error, "strerror", None) or " ".join(str(error).split())
