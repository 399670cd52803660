"""A matrix with what is known of its cells."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.regression.cell import Cell
from pipeline.regression.matrix import Matrix
from pipeline.regression.result import Result
from pipeline.regression.state import State


@dataclass(frozen=True)
class Regression:
    """``results``: by the cells' ids. ``resumed``: how many of them an earlier run has found.

    ``changed``: what is another than in an earlier run whose results were to be kept; see made_from.
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
        return self.results.get(cell.id) or Result(state=State.NOT_RUN, reason="its turn has not come")

    @property
    def cells(self) -> list[tuple[Cell, Result]]:
        """All, in the matrix's order."""
        return [(cell, self.result(cell)) for cell in self.matrix.cells]

    @property
    def not_green(self) -> list[tuple[Cell, Result]]:
        """All that did not pass."""
        return [(cell, result) for cell, result in self.cells if result.state is not State.PASSED]

    @property
    def failed(self) -> list[tuple[Cell, Result]]:
        """All that did not pass, but for the excluded ones."""
        return [(cell, result) for cell, result in self.not_green if result.state is not State.EXCLUDED]

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
