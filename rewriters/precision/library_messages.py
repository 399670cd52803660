"""What a library logs and prints, kept for a report instead of shown."""

import io
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TextIO

_ONE = threading.RLock()


class _Kept(logging.Handler):
    """The warnings of this thread. Those of others go where they went."""

    def __init__(self, before: list[logging.Handler]) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._before = before
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            if record.levelno >= logging.WARNING:
                self.lines.append(record.getMessage())
            return
        for handler in self._before or filter(None, [logging.lastResort]):
            if record.levelno >= handler.level:
                handler.handle(record)


class Dropped(io.TextIOBase):
    """In the place of stdout or stderr: what this thread writes is dropped, and what others do goes where it went."""

    def __init__(self, before: TextIO) -> None:
        self._before = before
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        """-> the number of characters."""
        return len(text) if threading.get_ident() == self._thread else self._before.write(text)

    def flush(self) -> None:
        """Of the stream that was there."""
        self._before.flush()


@contextmanager
def library_messages() -> Iterator[list[str]]:
    """The warnings that this thread logs meanwhile, in a list that grows. What it prints is dropped.

    One thread at a time: each puts back what was there before it.
    """
    root = logging.getLogger()
    with _ONE:
        before = list(root.handlers)
        kept = _Kept(before)
        root.handlers[:] = [kept]
        try:
            with nullcontext() if sys.stdout is None else redirect_stdout(Dropped(sys.stdout)):
                yield kept.lines
        finally:
            root.handlers[:] = before
