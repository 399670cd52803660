"""Runs the cells of a stage, each in a process of its own, within the stage's time."""

import json
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

from gpu.stage import Cell, Place, Stage, one_line
from pipeline.regression.child import GRACE

Process = Callable[[Cell, Path, float, Path, float, Event], int | None]
"""Runs a cell in a process of its own, as pipeline.regression.child.run_child does.

It is given the cell, the file for its findings, the seconds that it has, the file for its output, by when it is ended
(by time.monotonic()), and an event: everything is to end.
"""
LEAST_SECONDS = 5.0  # left of a stage, for another cell to begin
OVERTIME = "ended after its"


def run_stage(
    stage: Stage, place: Place, process: Process, kept: Callable[[dict[str, Any]], None], *, workers: int
) -> dict[str, Any]:
    """The record of a stage; `kept` is called with it after each cell.

    At most `place.seconds` pass: what is running GRACE seconds before is ended, by force where it hangs, and what has
    not begun is named. Cells that need not be alone run first, `workers` at a time. A cell that fails, crashes or hangs
    costs the others nothing but time. A stage that cannot name its cells could not run, and says why.
    """
    begin = time.monotonic()
    lack, cells = _cells(stage, place)
    record: dict[str, Any] = {
        "question": stage.question,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "bound": place.seconds,
        "rehearsal": place.rehearsal,
        "lack": lack,
        "cells": {},
        "left_out": [],
    }
    _run_cells(cells, stage, place, process, begin + place.seconds - GRACE, record, kept, workers)
    record["seconds"] = round(time.monotonic() - begin, 1)
    kept(record)
    return record


def _cells(stage: Stage, place: Place) -> tuple[str | None, list[Cell]]:
    """Why the stage cannot run, or None; its cells."""
    try:
        lack = stage.lack(place)
        return lack, list(stage.cells(place)) if lack is None else []
    except Exception as error:  # noqa: BLE001 - of a driver, say; the other stages are to follow
        return one_line(f"{type(error).__name__}: {error}"), []


def _run_cells(
    cells: Sequence[Cell],
    stage: Stage,
    place: Place,
    process: Process,
    until: float,
    record: dict[str, Any],
    kept: Callable[[dict[str, Any]], None],
    workers: int,
) -> None:
    stop = Event()

    def outcome(cell: Cell) -> dict[str, Any] | None:
        left = until - time.monotonic() - (0 if cell.alone else kept_for_alone)
        seconds = left if place.rehearsal else min(stage.cell_seconds, left)
        return None if seconds < LEAST_SECONDS else _run_cell(cell, place, process, seconds, stop)

    def keep(cell: Cell, found: dict[str, Any] | None) -> None:
        if found is None:
            record["left_out"].append(cell.name)
        else:
            record["cells"][cell.name] = found
        kept(record)

    beside = [cell for cell in cells if not cell.alone]
    kept_for_alone = stage.for_alone * place.seconds if len(beside) < len(cells) else 0
    with ThreadPoolExecutor(max(1, workers)) as pool:
        try:
            running = {pool.submit(outcome, cell): cell for cell in beside}
            for done in as_completed(running):
                keep(running[done], done.result())
        except BaseException:
            stop.set()
            raise
    for cell in cells:
        if cell.alone:
            keep(cell, outcome(cell))


def _run_cell(cell: Cell, place: Place, process: Process, seconds: float, stop: Event) -> dict[str, Any]:
    """What the cell found, and how it ended: None, or why it did not end by itself."""
    begin, folder = time.monotonic(), place.scratch / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    answer = folder / f"{secrets.token_hex(8)}.json"
    log = answer.with_suffix(".log")
    code = process(cell, answer, seconds, log, begin + seconds, stop)
    found: dict[str, Any] = {"figures": {}, "faults": {}, "lack": None}
    if answer.is_file():
        found = json.loads(answer.read_text(encoding="utf-8"))
    ended = None if code == 0 else _ended(code, seconds, log)
    return (
        {"kind": cell.kind, "subject": cell.subject, "seconds": round(time.monotonic() - begin, 1)}
        | found
        | {"ended": ended}
    )


def _ended(code: int | None, seconds: float, log: Path) -> str:
    if code is None:
        return f"{OVERTIME} {seconds:.0f} s; what it had found by then is kept"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    how = f"by signal {-code}" if code < 0 else f"with exit status {code}"
    return one_line(f"ended {how}: {_reason(lines)}")


def _reason(lines: Sequence[str]) -> str:
    """The line of a log that says most: of a crash the one that names it, else the last."""
    fatal = [line for line in lines if line.startswith("Fatal Python error")]
    return (fatal or list(lines) or ["it printed nothing"])[-1]
