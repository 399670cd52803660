"""What a library logs and prints, kept for a report instead of shown."""

import contextlib
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def library_messages() -> Iterator[list[str]]:
    """The warnings that are logged meanwhile, in a list that grows. What is printed is dropped."""
    root, kept = logging.getLogger(), _Kept()
    before = list(root.handlers)
    root.handlers[:] = [kept]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield kept.lines
    finally:
        root.handlers[:] = before
