"""Weights and their record are put in place together.

The record (.json) counts: it names the weights by their hash. A new one takes its place first, in one step, when the
new weights already lie complete beside the old ones. A run that is killed or fails before that has changed nothing;
after it, the next publication or check brings the weights into place.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.errors import InputError
from zoo.files import locks
from zoo.files.json_object import json_object
from zoo.files.writing import write_synced


def publish_weights(file: Path, record: str, weights: bytes | None = None) -> Path:
    """Puts weights and the text of their record into place and gives the record's path; None: the weights stay.

    `record`: a JSON object with the "sha256" of the weights. Raises InputError where they cannot be written; then, and
    when killed, the old ones or the new ones are there.
    """
    path = file.with_suffix(".json")
    with _publication(file):
        try:
            if weights is not None:
                write_synced(_staged(file), weights)
            write_synced(_staged(path), record.encode())
            _staged(path).replace(path)
        finally:
            _settle(file)
    return path


def check_publishable(file: Path) -> None:
    """Before the long work: can there be new files? Raises InputError."""
    with _publication(file):
        write_synced(_staged(file), b"")
        _staged(file).unlink()


@contextmanager
def _publication(file: Path) -> Iterator[None]:
    """Of the weights `file`, one at a time: a publication that was cut short has ended. OSErrors become InputErrors."""
    lock = file.with_name(f".{file.name}.lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with locks.locked(lock, make=True):
            try:
                _settle(file)
                yield
            finally:
                lock.unlink(missing_ok=True)  # while it is held: who waits for it sees that its name is gone
    except OSError as error:
        raise InputError(
            f"{file.parent}: weights and card cannot be written ({error.strerror}); make it writable, and free room "
            "there"
        ) from error


def _settle(file: Path) -> None:
    """Ends a publication of the weights `file` that was cut short: finished if its record is in place, else removed.

    Raises InputError where the record cannot be read.
    """
    path, staged = file.with_suffix(".json"), _staged(file)
    _staged(path).unlink(missing_ok=True)
    if path.is_file() and staged.is_file():
        record = json_object(path.read_bytes(), f"card {path}", "move it away, or put the right one there")
        if hashlib.sha256(staged.read_bytes()).hexdigest() == record.get("sha256"):
            staged.replace(file)
    staged.unlink(missing_ok=True)


def _staged(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")
