"""Text files of data sets."""

from pathlib import Path

from zoo.datasets.files.faults import Faults


def read_text(path: Path, faults: Faults) -> str | None:
    """The content of a file in UTF-8; None, and a fault, where it is not there or cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        faults.missing(path, "file")
    except (OSError, UnicodeDecodeError) as error:
        faults.add(path, f"cannot be read ({error})")
    return None
