"""What became of a cell, as a file of its own, and a matrix with what is known of its cells."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from pipeline.regression.cell import Cell
from pipeline.regression.matrix import Matrix
from pipeline.regression.state import LEFT_OUT, State
from zoo.files.writing import write_whole

CELLS = "cells"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the evaluation of a deployment found. Points 0..100 or dB; None where there was nothing to judge."""

    metric: str | None
    unit: str | None
    images: int
    figure: float | None
    reference: float | None
    difference: float | None
    interval: tuple[float, float] | None
    gate: float | None

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """From plain JSON types. Raises TypeError where a field is missing or unknown."""
        interval = fields.get("interval")
        return cls(**{**fields, "interval": None if interval is None else tuple(interval)})


@dataclass(frozen=True, kw_only=True)
class Result:
    """``reason``: one line, empty where the cell passed. Paths are relative to the matrix's work folder.

    ``deploy_seconds``: of the whole process, the loading of PyTorch included. ``bytes``: of the files that the runtime
    loads. ``made_from``: what the result depends on.
    """

    state: State
    reason: str = ""
    deploy_seconds: float | None = None
    evaluate_seconds: float | None = None
    bytes: int | None = None
    deployment: str | None = None
    measured: Measured | None = None
    logs: tuple[str, ...] = ()
    made_from: Mapping[str, Any] = field(default_factory=dict)

    def write(self, work_dir: Path, cell_id: str) -> None:
        """Write cells/<id>.json."""
        text = json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"
        write_whole(result_file(work_dir, cell_id), text, make_folders=True)

    @classmethod
    def read(cls, work_dir: Path, cell_id: str) -> Self | None:
        """The inverse of write; None where there is no result, or none that this version can read."""
        try:
            fields = json.loads(result_file(work_dir, cell_id).read_bytes())
            measured = fields["measured"]
            fields["state"] = State(fields["state"])
            fields["measured"] = None if measured is None else Measured.from_dict(measured)
            fields["logs"] = tuple(fields["logs"])
            return cls(**fields)
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None


def result_file(work_dir: Path, cell_id: str) -> Path:
    """Where a cell's result lies."""
    return work_dir / CELLS / f"{cell_id}.json"


@dataclass(frozen=True)
class Regression:
    """``results``: by the cells' ids. ``resumed``: how many of them an earlier run has found.

    ``changed``: what is another than in an earlier run whose results were to be kept; see fingerprints.
    """

    matrix: Matrix
    work_dir: Path
    results: Mapping[str, Result]
    resumed: int
    changed: tuple[str, ...]
    versions: Mapping[str, str]
    machine: str

    def result(self, cell: Cell) -> Result:
        """Of any cell: the excluded ones, and those whose turn has not come, too."""
        if cell.excluded is not None:
            return Result(state=State.EXCLUDED, reason=cell.excluded)
        return self.results.get(cell.id) or Result(state=State.NOT_RUN, reason="it has not run yet")

    @property
    def cells(self) -> list[tuple[Cell, Result]]:
        """All, in the matrix's order."""
        return [(cell, self.result(cell)) for cell in self.matrix.cells]

    @property
    def not_green(self) -> list[tuple[Cell, Result]]:
        """All that did not pass."""
        return [(cell, result) for cell, result in self.cells if result.state is not State.PASSED]

    @property
    def any_passed(self) -> bool:
        """Whether there is a cell that did."""
        return len(self.not_green) < len(self.cells)

    @property
    def failed(self) -> list[tuple[Cell, Result]]:
        """All that did not pass, but for those that are left out."""
        return [(cell, result) for cell, result in self.not_green if result.state not in LEFT_OUT]

    @property
    def summary(self) -> str:
        """One line: how many passed, and what became of the others."""
        counts = Counter(result.state for _, result in self.cells)
        others = ", ".join(f"{counts[state]} {state}" for state in State if counts[state] and state is not State.PASSED)
        return f"{counts[State.PASSED]} of {len(self.matrix.cells)} cells passed" + (f"; {others}" if others else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "matrix": self.matrix.name,
            "work_dir": str(self.work_dir),
            "limit": self.matrix.limit,
            "gate_split": self.matrix.gate_split,
            "resumed": self.resumed,
            "changed": list(self.changed),
            "summary": self.summary,
            "cells": [{**asdict(cell), "id": cell.id, **asdict(result)} for cell, result in self.cells],
            "versions": dict(self.versions),
            "machine": self.machine,
        }
