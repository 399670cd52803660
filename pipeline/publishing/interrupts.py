"""Signals that end a process, put off while something must not stop half-way."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], Any]


class Interrupts:
    """A context in which these signals wait while ``held`` is True, as it is on entry.

    It concerns signals that have a handler in Python (Ctrl-C, and SIGTERM and SIGHUP in the command-line tools), and
    the main thread, which runs handlers. What has waited is delivered by ``release``, and at the end of the context
    unless an interruption ends it already. ``held`` is an attribute, because a handler can run inside any call:
    ``finally: interrupts.held = True`` leaves no moment in which a second signal could skip the clean-up behind it.
    """

    def __init__(self) -> None:
        self.held = True
        self._waiting: list[int] = []
        self._before: dict[int, Handler] = {}

    def release(self) -> None:
        """Delivers what has waited, which may raise, and lets the next one through at once."""
        self.held = False
        waiting, self._waiting = self._waiting, []
        for number in waiting:
            signal.raise_signal(number)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                handler = signal.getsignal(number)
                if callable(handler):
                    self._before[number] = handler
                    signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if not isinstance(error, KeyboardInterrupt):
            self.release()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.held:
            self._waiting.append(number)
        else:
            self._before[number](number, frame)
