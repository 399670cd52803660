"""Why a cell failed, in one line: the tool's own words, or what else is known of its end."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.regression.state import State, state_of

LAST_BYTES = 8192  # of a log, in which its last line stands
LONGEST = 600  # characters


def reason_of(step: str, code: int, data: Mapping[str, Any], log: Path) -> str:
    """``step``: the tool without its ending. ``code``: not 0; below 0 a signal. ``data``: what it wrote by --json."""
    tool = f"{step}.py"
    if code < 0:
        words = f"{tool} was killed by {_signal_words(-code)}"
        return f"{words}; the kernel does so where memory runs out" if -code == signal.SIGKILL else words
    words = " ".join(str(data.get("error") or _last_line(log)).split()).removeprefix("error: ") or "it said nothing"
    if state_of(step, code) is State.CRASHED:
        words = f"{tool} ended with exit code {code}: {words}"
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."


def _signal_words(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({signal.strsignal(number)})"
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
        lines = file.read().decode(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")
