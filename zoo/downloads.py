"""A model is built from its config and runs on its inputs: one that asks the network for something is stopped."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from typing import Any, TextIO

from zoo.errors import InputError

HUB_CLIENT = "huggingface_hub"  # raises errors of its own where it is offline, and asks nobody
LOCAL = ("file:", "data:")  # addresses that urllib reads without a network
IN_BUILDING = (
    "while it is built ({address}); build it without pretrained weights (weights=None, pretrained=False, "
    "encoder_weights=None) and name the file of its weights as checkpoint"
)
IN_RUNNING = (
    "while it runs ({address}); a deployment has no network: make what it needs a part of the module, whose weights "
    "the checkpoint holds, or read it from a file when the module is built"
)
_guarded = threading.local()
"""`addresses`: what the thread's guarded code has asked for, in order; None outside of `refused_downloads`."""


class DownloadRefusedError(InputError):
    """A model asked the network for something."""


class _RefusedError(Exception):
    """Ends a request. No OSError, which libraries take for a network that is down, and try again."""


@contextmanager
def refused_downloads(what: str, *, runs: bool = False) -> Iterator[None]:
    """While `what` is built, or with `runs` while it runs, this thread opens no connection.

    Raises DownloadRefusedError that names the address where it tries to, even if the library then continues without the
    file. What is printed meanwhile comes out at the end, unless a download is refused.
    """
    _install_hook()
    addresses: list[str] = []
    before = getattr(_guarded, "addresses", None)
    _guarded.addresses = addresses
    words = IN_RUNNING if runs else IN_BUILDING
    with _held_back():
        try:
            yield
        except DownloadRefusedError:  # of a part that is guarded by itself
            raise
        except Exception as error:
            client = _client_error(error)
            if client is not None and not addresses:
                addresses.append(" ".join(str(client).split()))
            if not addresses:
                raise
            raise _download_error(what, words, addresses) from error
        finally:
            _guarded.addresses = before
        if addresses:
            raise _download_error(what, words, addresses)


class _Held(StringIO):
    """Text for a stream, held back until `release`. What is written later, as by a handler of a log, goes there."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream
        self.holds = True

    def write(self, text: str) -> int:
        return super().write(text) if self.holds else self.stream.write(text)

    def release(self, *, dropped: bool) -> None:
        self.holds = False
        if not dropped:
            self.stream.write(self.getvalue())


@contextmanager
def _held_back() -> Iterator[None]:
    """Holds back what is printed, and drops it if a download is refused: torch.hub announces one before it asks.

    The streams are the process's, so only the main thread replaces them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    out, err = _Held(sys.stdout), _Held(sys.stderr)
    refused = False
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield
    except DownloadRefusedError:
        refused = True
        raise
    finally:
        for held in (out, err):
            held.release(dropped=refused)


def _download_error(what: str, words: str, addresses: list[str]) -> DownloadRefusedError:
    return DownloadRefusedError(f"{what} tries to download something {words.format(address=addresses[0])}")


def _client_error(error: BaseException | None) -> BaseException | None:
    """The error of the hub's client that led to this one."""
    while error is not None:
        if type(error).__module__.partition(".")[0] == HUB_CLIENT:
            return error
        error = error.__cause__ or error.__context__
    return None


@cache
def _install_hook() -> None:
    """Once in a process: Python has no way to remove it. Outside of `refused_downloads` it does nothing."""
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in ("urllib.Request", "socket.getaddrinfo"):
        return
    addresses = getattr(_guarded, "addresses", None)
    if addresses is None or str(arguments[0]).startswith(LOCAL):
        return
    addresses.append(str(arguments[0]))
    raise _RefusedError(arguments[0])
