"""Deploy, prove and evaluate a matrix of models, backends, precisions and exporters, cell by cell."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import GateError
from zoo.printable import printable
from zooport.parser import Parser
from zooport.terminal import open_console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from pipeline.regression import Regression
    from pipeline.regression.cell import Cell
    from pipeline.regression.result import Result

    Watch = Callable[[Cell, Result | None, int], None]

EXAMPLES = """examples:
  zooport regression configs/regression/small.yaml
  zooport regression configs/regression/shipped.yaml --jobs 2
  zooport regression configs/regression/shipped.yaml --rerun-failed

--resume and --rerun-failed reuse a result if nothing that it depends on has changed: the cell, the config and its
checkpoint, the sources of zooport, the versions of the libraries. They do not check the data set's files.

Code 3: one or more cells did not pass, not counting those that are left out or lack a library. Code 130: finished cells
are kept for --resume."""
ZOOPORT = (sys.executable, "-P", "-m", "zooport")  # of each cell; -P: no file of the current folder is imported
STYLES = {"good": "green", "bad": "red", "open": "dim"}
WHOLE_RUN = 1e9  # seconds over which the speed is estimated: cells take minutes


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport regression", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("matrix", metavar="MATRIX.yaml", help="a matrix, such as those under configs/regression/")
    flags.add_argument("--resume", action="store_true", help="keep the results of an earlier run, failed ones included")
    flags.add_argument("--rerun-failed", action="store_true", help="keep only the passed results of an earlier run")
    flags.add_argument("--jobs", type=int, default=1, metavar="N", help="cells to run at once (default: 1)")
    flags.add_argument("--work-dir", metavar="D", help="default: work_dirs/regression/<name of the matrix>")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Run the matrix, print, and give the same as data. Raises GateError where a cell did not pass."""
    console = open_console()
    from pipeline.regression import load_matrix, run_matrix

    matrix = load_matrix(options.matrix)
    work_dir = Path(options.work_dir or Path("work_dirs/regression", matrix.name))
    with show_cells(console) as watch:
        regression = run_matrix(
            matrix,
            ZOOPORT,
            work_dir,
            resume=options.resume,
            rerun_failed=options.rerun_failed,
            jobs=options.jobs,
            progress=watch,
        )
    return show(console, regression)


@contextmanager
def show_cells(console: "Console") -> Iterator["Watch"]:
    """A function to call with each cell as it begins and, with its result, as it ends. A terminal shows a bar."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    columns = (
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
    )
    begun: dict[str, float] = {}
    with Progress(
        *columns,
        console=console,
        transient=True,
        expand=True,
        disable=not console.is_terminal,
        speed_estimate_period=WHOLE_RUN,
    ) as bar:
        row = bar.add_task("", total=None)
        done = 0

        def watch(cell: "Cell", result: "Result | None", left: int) -> None:
            nonlocal done
            if result is None:
                begun[cell.id] = time.monotonic()
            else:
                seconds = time.monotonic() - begun.pop(cell.id)
                words = (f"{cell.id}: ", verdict(result), f" ({seconds:.0f} s), {left} left")
                console.print(*words, sep="", highlight=False, soft_wrap=True)
                done += 1
            bar.update(row, completed=done, total=done + left, description=printable(", ".join(begun)))

        yield watch


def verdict(result: "Result") -> "Text":
    """A state in its colour."""
    from rich.text import Text

    return Text(str(result.state), STYLES[result.state.kind])


def show(console: "Console", regression: "Regression") -> Mapping[str, Any]:
    """Print the table, the reasons, and where the reports lie; the same as data."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from pipeline.regression.entries import REPORT, entry_of, format_column
    from pipeline.regression.report import MARKDOWN

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("model", "for", "verdict", "metric", "cost"):
        table.add_column(column, overflow="fold")
    for cell, result in regression.cells:
        entry = entry_of(cell, result)
        table.add_row(cell.model, format_column(cell.column), verdict(result), entry.metric, entry.cost)
    console.print(table)
    for cell, result in regression.not_green:
        console.print(f"{cell.id}: {result.state}: {result.reason}", highlight=False, soft_wrap=True)
    if regression.resumed:
        console.print(
            f"{regression.resumed} of {len(regression.matrix.cells)} cells are of an earlier run", highlight=False
        )
    if regression.changed:
        console.print(f"run again, because it changed: {', '.join(regression.changed)}", highlight=False)
    console.print(regression.summary, highlight=False)
    report, page = regression.work_dir / REPORT, regression.work_dir / MARKDOWN
    for words, path in (("report", report), ("markdown", page)):
        console.print(f"{words + ':':<10}{path}", soft_wrap=True, highlight=False)
    data = {**regression.to_dict(), "report": str(report), "markdown": str(page)}
    if regression.failed:
        error = GateError(
            f"{len(regression.failed)} of {len(regression.matrix.cells)} cells did not pass; see {report}"
        )
        error.data = data
        raise error
    return data
