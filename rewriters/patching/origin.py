"""Which rewriter an exception comes out of: a note on the exception, which a traceback shows and an error can name."""

import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from zoo.errors import ZooportError

NOTE = "raised inside zooport's rewriter "
Function = Callable[..., Any]


@contextmanager
def named(rewriter: str) -> Iterator[Callable[[Function], Function]]:
    """Adds a note to an exception that is raised inside; yields a wrapper for functions that have no part in it.

    What comes out of a wrapped function, such as the original that a replacement calls, or out of a module of the
    model that it calls, gets no note, nor does a refusal of ours: a replacement may mean it.
    """
    others: list[BaseException] = []

    def outside(function: Function) -> Function:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                others.append(error)
                raise

        return watched

    try:
        yield outside
    except ZooportError:
        raise
    except Exception as error:
        if rewriter_of(error) is None and not any(error is other for other in others) and not _of_a_module(error):
            error.add_note(f"{NOTE}{rewriter}; report it, or leave that rewriter out")
        raise


def _of_a_module(error: BaseException) -> bool:
    """Whether it was raised in a call of a module."""
    call = nn.Module._call_impl.__code__  # noqa: SLF001  # every call of a module runs it
    return any(frame.f_code is call for frame, _ in traceback.walk_tb(error.__traceback__))


def rewriter_of(error: BaseException | None) -> str | None:
    """The rewriter that an exception, or one of those behind it, comes out of; None where no replacement raised it."""
    while error is not None:
        for note in getattr(error, "__notes__", ()):
            if note.startswith(NOTE):
                return str(note.removeprefix(NOTE).partition(";")[0])
        error = error.__cause__ or error.__context__
    return None
