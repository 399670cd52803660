"""A model is built from its config alone: one that asks the network for something meanwhile is stopped."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from functools import cache
from io import StringIO
from typing import Any

from zoo.errors import InputError

HUB_CLIENT = "huggingface_hub"  # raises errors of its own where it is offline, and asks nobody
LOCAL = ("file:", "data:")  # addresses that urllib reads without a network
_guarded = threading.local()
"""`addresses`: what the thread's guarded code has asked for, in order; None outside of `refused_downloads`."""


class _RefusedError(Exception):
    """Ends a request. No OSError, which libraries take for a network that is down, and try again."""


@contextmanager
def refused_downloads(what: str) -> Iterator[None]:
    """While `what` is built, this thread opens no connection.

    Raises InputError that names the address where it tries to, even if the library then continues without the file.
    """
    _install_hook()
    addresses: list[str] = []
    before = getattr(_guarded, "addresses", None)
    _guarded.addresses = addresses
    printed = StringIO()  # torch.hub announces a download before it asks
    try:
        with redirect_stderr(printed):
            yield
    except Exception as error:
        client = _client_error(error)
        if client is not None and not addresses:
            addresses.append(" ".join(str(client).split()))
        if not addresses:
            raise
        raise _download_error(what, addresses) from error
    finally:
        _guarded.addresses = before
        if not addresses:
            sys.stderr.write(printed.getvalue())
    if addresses:
        raise _download_error(what, addresses)


def _download_error(what: str, addresses: list[str]) -> InputError:
    return InputError(
        f"{what} tries to download something while it is built ({addresses[0]}); build it without pretrained weights "
        "(weights=None, pretrained=False, encoder_weights=None) and name the file of its weights as checkpoint"
    )


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
