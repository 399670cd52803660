"""The two processes that a cell is made of."""

import sys
from dataclasses import dataclass
from pathlib import Path

from pipeline.regression.cell import Cell

DEPLOY, EVALUATE = "deploy", "evaluate"


@dataclass(frozen=True)
class Commands:
    """Command lines of the tools in a folder, for one kind of evaluation. ``limit``: images, None for all."""

    tools: Path
    limit: int | None = None
    gate_split: bool = False

    def deploy(self, cell: Cell, work_dir: Path, json_file: Path) -> list[str]:
        """Export, build, and compare with the unpatched model."""
        backend, precision, exporter = cell.column
        target = ["--backend", backend, "--precision", precision, "--exporter", exporter]
        return [*self._tool(DEPLOY, cell), *target, *_files(work_dir, json_file)]

    def evaluate(self, cell: Cell, deployment: str, work_dir: Path, json_file: Path) -> list[str]:
        """The metric of a deployment beside that of the unpatched model."""
        limit = [] if self.limit is None else ["--limit", str(self.limit)]
        split = ["--gate-split"] if self.gate_split else []
        return [*self._tool(EVALUATE, cell), "--deployment", deployment, *limit, *split, *_files(work_dir, json_file)]

    def _tool(self, name: str, cell: Cell) -> list[str]:
        return [sys.executable, str(self.tools / f"{name}.py"), cell.config]


def _files(work_dir: Path, json_file: Path) -> list[str]:
    return ["--work-dir", str(work_dir), "--json", str(json_file)]
