"""A model is imported, built and run here: one that asks the network for something, or starts a program, is stopped."""

import ipaddress
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache, wraps
from io import StringIO
from typing import Any, TextIO
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from zoo.errors import InputError
from zoo.own_code import is_called_by_own

HUB_CLIENT = "huggingface_hub"  # raises errors of its own where it is offline, and asks nobody
LOCAL = ("file", "data")  # schemes that urllib reads without a network
DOWNLOAD, PROGRAM = "download something", "start a program"
NETWORKS = (socket.AF_INET, socket.AF_INET6)
NO_PROGRAM = "a deployment starts no programs: take that out, and read what it needs from a file"


@dataclass(frozen=True)
class Phase:
    """`when`: of a model, for messages. `cure`: of a download. `may_go_on`: whether a refusal may be swallowed."""

    when: str
    cure: str
    may_go_on: bool = False


BUILT = Phase(
    "while it is built",
    "build it without pretrained weights (weights=None, pretrained=False, encoder_weights=None) and name the file of "
    "its weights as checkpoint",
)
RUNS = Phase(
    "while it runs",
    "a deployment has no network: make what it needs a part of the module, whose weights the checkpoint holds, or read "
    "it from a file when the module is built",
)
IMPORTED = Phase("while it is imported", "take that out: what a model needs is read from a file", may_go_on=True)
"""Many a library looks for a newer version of itself when it is imported, and goes on without an answer."""


@dataclass(frozen=True)
class _Request:
    """What guarded code wanted: DOWNLOAD or PROGRAM. `object`: the address, or the command."""

    wish: str
    object: str


@dataclass
class _Guard:
    """`requests`: what its code has asked for, in order."""

    requests: list[_Request] = field(default_factory=list)


_guards: WeakKeyDictionary[threading.Thread, _Guard] = WeakKeyDictionary()
"""Of the threads that run guarded code."""
_starters: WeakKeyDictionary[threading.Thread, threading.Thread] = WeakKeyDictionary()
"""Of each thread that guarded code has started: who started it, and whose guard is its own, too."""


class DownloadRefusedError(InputError):
    """A model asked the network for something, or for another program."""


class _RefusedError(Exception):
    """Ends a request. No OSError, which libraries take for a network that is down, and try again."""


@contextmanager
def refused_downloads(what: str, phase: Phase = BUILT) -> Iterator[None]:
    """In this phase of `what`, this thread and those that it starts open no connection to another machine.

    Nor does code of a user's own start a program there; a library may, which looks for a compiler or a font.
    Raises DownloadRefusedError that names the address or the program where it is tried, also if the code then goes on
    without, unless the phase allows that. What is printed meanwhile comes out at the end, unless it is refused.
    """
    _install_hooks()
    thread = threading.current_thread()
    guard, before = _Guard(), _guards.get(thread)
    _guards[thread] = guard
    with nullcontext() if phase.may_go_on else _held_back():
        try:
            yield
        except DownloadRefusedError:  # of a part that is guarded by itself
            raise
        except Exception as error:
            client = _client_error(error)
            if client is not None and not guard.requests:
                guard.requests.append(_Request(DOWNLOAD, " ".join(str(client).split())))
            if not guard.requests:
                raise
            raise _refusal(what, phase, guard.requests[0]) from error
        finally:
            if before is None:
                _guards.pop(thread, None)
            else:
                _guards[thread] = before
        if guard.requests and not phase.may_go_on:
            raise _refusal(what, phase, guard.requests[0])


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


def _refusal(what: str, phase: Phase, request: _Request) -> DownloadRefusedError:
    cure = NO_PROGRAM if request.wish == PROGRAM else phase.cure
    return DownloadRefusedError(f"{what} tries to {request.wish} {phase.when} ({request.object}); {cure}")


def _client_error(error: BaseException | None) -> BaseException | None:
    """The error of the hub's client that led to this one, where it is of a file that it did not get."""
    while error is not None:
        if type(error).__module__.partition(".")[0] == HUB_CLIENT and isinstance(error, OSError):
            return error
        error = error.__cause__ or error.__context__
    return None


@cache
def _install_hooks() -> None:
    """Once in a process: Python has no way to remove one of them. Outside of `refused_downloads` they do nothing."""
    sys.addaudithook(_heard)
    start = threading.Thread.start

    @wraps(start)
    def noted_start(thread: threading.Thread) -> None:  # Python 3.11 has no audit event for it
        if _guard_of(threading.current_thread()) is not None:
            _starters[thread] = threading.current_thread()
        start(thread)

    threading.Thread.start = noted_start  # type: ignore[method-assign, assignment]


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if not _guards:  # nothing is guarded; or the interpreter ends, and has taken this module's names away
        return
    if event not in _READERS or (guard := _guard_of(threading.current_thread())) is None:
        return
    request = _READERS[event](*arguments)
    if request is None or (request.wish == PROGRAM and not is_called_by_own(sys._getframe(1))):  # noqa: SLF001
        return
    guard.requests.append(request)
    raise _RefusedError(request.object)


def _guard_of(thread: threading.Thread | None) -> _Guard | None:
    """Its own, or that of the thread that started it."""
    while thread is not None:
        if (guard := _guards.get(thread)) is not None:
            return guard
        thread = _starters.get(thread)
    return None


def _of_url(url: Any, *_: Any) -> _Request | None:
    parts = urlsplit(str(url))
    return None if parts.scheme in LOCAL or _is_here(parts.hostname) else _Request(DOWNLOAD, str(url))


def _of_name(host: Any, *_: Any) -> _Request | None:
    name = host.decode(errors="replace") if isinstance(host, bytes) else host
    return None if _is_here(name) else _Request(DOWNLOAD, name)


def _of_connection(connected: socket.socket, address: Any) -> _Request | None:
    if connected.family not in NETWORKS or _is_here(address[0]):
        return None
    return _Request(DOWNLOAD, f"{address[0]}:{address[1]}")


def _of_command(command: Any) -> _Request:
    return _Request(PROGRAM, _words(command))


def _of_program(path: Any, arguments: Any, *_: Any) -> _Request:
    return _Request(PROGRAM, _words(arguments or path))


def _words(command: Any) -> str:
    parts = command if isinstance(command, list | tuple) else [command]
    return " ".join(os.fsdecode(part) for part in parts)


def _is_here(host: str | None) -> bool:
    """Whether a name or an address is this machine's own."""
    if not host or host in ("localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


_READERS: Mapping[str, Callable[..., _Request | None]] = {
    "urllib.Request": _of_url,
    "socket.getaddrinfo": _of_name,
    "socket.connect": _of_connection,
    "os.system": _of_command,
    "subprocess.Popen": _of_program,
    "os.posix_spawn": _of_program,
    "os.exec": _of_program,
}
"""What each audit event asks for, of its arguments; None for what is on this machine."""
