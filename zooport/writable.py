"""Can a folder be written? Asked before the long work."""

from pathlib import Path
from tempfile import TemporaryFile

from zoo.errors import InputError


def check_writable(folder: Path, name: str, cure: str, *, make: bool = False) -> None:
    """Raises InputError where no file can be made in `folder`; `name`: what the user called it, `cure`: what helps.

    `make`: the folder is made where it is not there.
    """
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{name}: cannot be written ({error.strerror}); {cure}") from error


def check_reference_results(folder: Path | None) -> None:
    """Make the folder of --reference-results, if there is one. Raises InputError."""
    if folder is not None:
        check_writable(folder, f"--reference-results {folder}", "give another folder", make=True)
