"""What can become of a cell, and why it failed, in one line."""

import os
import signal
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from zoo.printable import printable


class State(StrEnum):
    """The values are the words of the table."""

    PASSED = "passed"
    PARITY_MISSED = "parity missed"
    METRIC_MISSED = "metric gate missed"
    NOT_JUDGED = "metric not judged"
    UNAVAILABLE = "backend not available"
    NOT_INSTALLED = "library not installed"
    REFUSED = "export refused"
    INPUT = "wrong input"
    FAULT = "fault of zooport"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    EXCLUDED = "excluded"
    NOT_RUN = "not run yet"

    @property
    def kind(self) -> str:
        """One of "good", "bad" and "open": nothing was found out."""
        if self is State.PASSED:
            return "good"
        return "open" if self in LEFT_OUT or self is State.NOT_RUN else "bad"


LEFT_OUT = (State.EXCLUDED, State.NOT_INSTALLED)
"""Cells that fail no matrix: it excludes them, or their model needs a library that is not installed here."""


BY_EXIT_CODE = {
    1: State.FAULT,
    2: State.INPUT,
    4: State.UNAVAILABLE,
    5: State.REFUSED,
}
GATE_MISSED = 3
LIBRARY_MISSING = "library_missing"  # a key of what a tool writes, see zoo.errors.LibraryMissingError
DEPLOY, EVALUATE = "deploy", "evaluate"  # the tools, without their ending


def state_of(step: str, code: int, data: Mapping[str, Any]) -> State:
    """What the exit code (not 0; below 0 a signal) of a tool says. ``step``: DEPLOY or EVALUATE; ``data``: its JSON."""
    if data.get(LIBRARY_MISSING):
        return State.NOT_INSTALLED
    if code == GATE_MISSED:
        return State.PARITY_MISSED if step == DEPLOY else State.METRIC_MISSED
    return BY_EXIT_CODE.get(code, State.CRASHED)


LAST_BYTES = 8192  # of a log, in which its last line stands
LONGEST = 600  # characters


def reason_of(step: str, code: int, data: Mapping[str, Any], log: Path) -> str:
    """``step``: DEPLOY or EVALUATE. ``code``: not 0; below 0 a signal. ``data``: what it wrote by --json."""
    tool = f"zooport {step}"
    if code < 0:
        words = f"{tool} was killed by {_format_signal(-code)}"
        return f"{words}; the kernel does this when memory runs out" if -code == signal.SIGKILL else words
    said = printable(" ".join(str(data.get("error") or _last_line(log)).split()))
    words = said.removeprefix("error: ") or "it said nothing"
    if state_of(step, code, data) is State.CRASHED:
        words = f"{tool} ended with exit code {code}: {words}"
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."


def _format_signal(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({signal.strsignal(number)})"
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
        lines = file.read().decode(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")
