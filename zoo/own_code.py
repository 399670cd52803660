"""Code of a user's own: neither Python's, nor an installed package's, nor zooport's (torch-free)."""

import sysconfig
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import FrameType

from zoo.custom_sources import PACKAGES

INSTALLED = frozenset({"site-packages", "dist-packages"})
ZOOPORT = tuple(Path(__file__).parent.with_name(name) for name in (*PACKAGES, "zooport", "tools", "benchmarks"))
PYTHON = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


def is_own(file: str) -> bool:
    """Whether the file of some code, as its `co_filename` says it, is a user's own."""
    path = Path(file)
    if not path.is_absolute():  # frozen modules, and code that was made of a text
        return False
    return not (_is_installed(path) or any(path.is_relative_to(folder) for folder in (*ZOOPORT, *PYTHON)))


def place_of(error: BaseException) -> str | None:
    """Where a user's own code raised an error, or called what raised it: "net.py, line 12, in forward"; else None."""
    cause: BaseException | None = error
    while cause is not None:
        for frame in reversed(extract_tb(cause.__traceback__)):
            if is_own(frame.filename):
                return _words(frame)
        cause = cause.__cause__
    return None


def library_place(error: BaseException) -> str | None:
    """Where an installed library raised an error, as `place_of` has it; torch's own frames count for their caller."""
    for frame in reversed(extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if _is_outside_of_python(frame.filename) and "torch" not in path.parts:
            is_library = _is_installed(path) and not any(path.is_relative_to(folder) for folder in ZOOPORT)
            return _words(frame) if is_library else None
    return None


def reason_of(error: BaseException) -> str:
    """An error of a user's own code in one line: its kind, its message, and the place."""
    text, place = " ".join(str(error).split()), place_of(error)
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return reason if place is None else f"{reason}, at {place}"


def is_called_by_own(frame: FrameType | None) -> bool:
    """Whether the code that called into Python's standard library is a user's own. `frame`: of the innermost call."""
    while frame is not None and not _is_outside_of_python(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and is_own(frame.f_code.co_filename)


def _is_outside_of_python(file: str) -> bool:
    path = Path(file)
    return path.is_absolute() and (_is_installed(path) or not any(path.is_relative_to(folder) for folder in PYTHON))


def _is_installed(path: Path) -> bool:
    return not INSTALLED.isdisjoint(path.parts)


def _words(frame: FrameSummary) -> str:
    return f"{frame.filename}, line {frame.lineno}, in {frame.name}"
