"""Standard output that nobody reads any more, and streams that were closed before the command began."""

import io
import os
import sys
from pathlib import Path

UNREAD = "standard output was closed before everything was printed"


def open_closed_streams() -> None:
    """Python has None for a stream that was closed at the start (`>&-`): what is printed there goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - until the end of the process


def drop_unwritable() -> None:
    """What standard output does not take goes nowhere: its reader is gone, or its disk is full."""
    try:
        sys.stdout.flush()
    except OSError:
        drop_output()


def drop_output() -> None:
    """What is still to be printed goes nowhere: Python would try again at its end, and complain."""
    try:
        descriptor = sys.stdout.fileno()
    except io.UnsupportedOperation:  # no file: another one reads it
        return
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), descriptor)
