"""Lines for the user that end no work: the command line shows them, elsewhere they are warnings of the log.

Warnings of libraries are for programmers, and stay off the terminal; these are for a person who runs a command.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str], None]] = []


def notice(message: str) -> None:
    """Tell those who listen. Where nobody does, Python shows it on stderr if no logging is set up."""
    for listener in _listeners:
        listener(message)
    if not _listeners:
        import logging  # a deployment that has nothing to say loads without it

        logging.getLogger("zooport").warning("%s", message)


@contextmanager
def heard(listener: Callable[[str], None]) -> Iterator[None]:
    """Notices of all threads of this process go to the listener meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
