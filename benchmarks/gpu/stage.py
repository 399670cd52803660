"""What a stage of the GPU kit is, what it runs on, and what a measurement of it keeps."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from measured import shipped_configs

from zoo.files.writing import write_whole

Figure = str | int | float | bool | None
Subject = TypeVar("Subject")
LONGEST = 400  # characters of a line in the findings
DIGITS = 4  # of a number, significant


@dataclass(frozen=True)
class Place:
    """What a stage runs on.

    `device`: as `--device` takes it; in a rehearsal "cpu". `scratch`: a folder for deployments and the like, which the
    stages share. `out`: for files that are kept beside the findings. `seconds`: those that a measurement has.
    """

    device: str
    scratch: Path
    out: Path
    seconds: float
    rehearsal: bool = False

    def configs(self, *words: str) -> list[str]:
        """The shipped configs, with `words` those whose name has one of them; in a rehearsal the first of these.

        One of each task, then the next of each: what has time for some models has seen every task.
        """
        tasks: dict[str, list[str]] = {}
        for config in shipped_configs(words):
            tasks.setdefault(Path(config).parent.name, []).append(config)
        turns = zip_longest(*tasks.values())
        return list(self.one_or_all([config for turn in turns for config in turn if config]))

    def one_or_all(self, subjects: Sequence[Subject]) -> Sequence[Subject]:
        """All of them; in a rehearsal the first one."""
        return subjects[:1] if self.rehearsal else subjects

    def some(self, measured: int, rehearsed: int = 2) -> int:
        """How many images, rounds or iterations: few in a rehearsal."""
        return rehearsed if self.rehearsal else measured


class Findings:
    """What one measurement has found so far, kept in a file after each step.

    `figures`: by name, as JSON. `faults`: what failed, by name, each one line. `lack`: why it could not run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.figures: dict[str, Figure] = {}
        self.faults: dict[str, str] = {}
        self.lack: str | None = None

    def add(self, figures: Mapping[str, Figure]) -> None:
        """Keep these figures. What is not a number becomes None, and text one line."""
        self.figures |= {name: _plain(value) for name, value in figures.items()}
        self._keep()

    def fault(self, name: str, reason: str) -> None:
        """Keep a fault."""
        self.faults[name] = one_line(reason)
        self._keep()

    def cannot_run(self, reason: str) -> None:
        """Keep why nothing was measured."""
        self.lack = one_line(reason)
        self._keep()

    @contextmanager
    def trying(self, step: str) -> Iterator[None]:
        """A step whose failure is a finding; the steps behind it follow all the same."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever a step raises is what is to be found out
            self.fault(step, f"{type(error).__name__}: {error}")

    def _keep(self) -> None:
        content = {"figures": self.figures, "faults": self.faults, "lack": self.lack}
        write_whole(self.path, json.dumps(content, allow_nan=False))


@dataclass(frozen=True)
class Cell:
    """One measurement, in a process of its own. Cells of a `kind` have the same figures and share a table.

    `subject`: what is measured. `alone`: whether nothing runs beside it, as where something is timed.
    """

    kind: str
    subject: str
    measure: Callable[[Place, Findings], None]
    alone: bool = True

    @property
    def name(self) -> str:
        """Of the cell, within its stage."""
        return f"{self.kind} | {self.subject}"


@dataclass(frozen=True)
class Stage:
    """`order`: its place among all. `question`: what it answers. `cells`: of a place, the most important first.

    `lack`: why the stage cannot run there, see gpu.lacks. `cell_seconds`: that one cell has at most. `for_alone`: the
    part of the stage's time that is kept for cells that are alone, which run last.
    """

    order: int
    name: str
    question: str
    cells: Callable[[Place], Iterable[Cell]]
    lack: Callable[[Place], str | None]
    cell_seconds: float = 180
    for_alone: float = 0.0

    def matching(self, patterns: Sequence[str]) -> "Stage":
        """The same stage, with those cells alone in whose name one of these regular expressions is found."""

        def chosen(place: Place) -> list[Cell]:
            return [cell for cell in self.cells(place) if any(re.search(pattern, cell.name) for pattern in patterns)]

        return replace(self, cells=chosen)


def stages() -> dict[str, Stage]:
    """Every stage in the folder `stages` by name, in order."""
    names = sorted(path.stem for path in (Path(__file__).parent / "stages").glob("[!_]*.py"))
    found: list[Stage] = [import_module(f"gpu.stages.{name}").STAGE for name in names]
    return {stage.name: stage for stage in sorted(found, key=lambda stage: stage.order)}


def one_line(text: str) -> str:
    """Without line breaks, and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."


def named(cells: Sequence[Cell], name: str) -> Cell:
    """The cell of this name."""
    return next(cell for cell in cells if cell.name == name)


def _plain(value: Any) -> Figure:
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return one_line(str(value))
