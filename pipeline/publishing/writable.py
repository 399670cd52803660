"""A folder that a run writes into: what the system refuses there is the user's to fix, in one line."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.errors import InputError


@contextmanager
def writable(folder: Path, flag: str = "--work-dir") -> Iterator[None]:
    """Errors of the file system, and of SQLite files in it, become an InputError that names the folder.

    ``flag``: what gives another one.
    """
    try:
        yield
    except ConnectionError:  # of another machine
        raise
    except (OSError, sqlite3.Error) as error:
        where = getattr(error, "filename", None) or folder
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{folder}: cannot be written ({where}: {reason}); make it writable and free room there, or give another "
            f"{flag}"
        ) from error
