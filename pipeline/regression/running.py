"""Running a matrix: cells one after another or a few at once, each result on the disk as soon as it is known."""

import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event
from typing import Any

from pipeline.base.machine import machine
from pipeline.publishing.lock import locked
from pipeline.publishing.writable import writable
from pipeline.regression.cell import Cell
from pipeline.regression.cell_run import CellRun, Commands
from pipeline.regression.fingerprint import fingerprints, installed_versions
from pipeline.regression.matrix import Matrix
from pipeline.regression.report import write_reports
from pipeline.regression.result import Regression, Result, result_file
from pipeline.regression.state import State
from zoo.errors import InputError

REFERENCE_RESULTS = "reference_results"
Watch = Callable[[Cell, Result | None, int], None]


def _unseen(cell: Cell, result: Result | None, left: int) -> None:
    """Nobody looks at the progress."""


def run_matrix(
    matrix: Matrix,
    zooport: Sequence[str],
    work_dir: Path,
    *,
    resume: bool = False,
    rerun_failed: bool = False,
    jobs: int = 1,
    progress: Watch = _unseen,
) -> Regression:
    """Run all cells that are not excluded, and write report.md and report.html after each of them.

    ``zooport``: the command that takes a verb and its arguments. ``resume`` keeps the results that an earlier run has
    left and that were made from the same; ``rerun_failed`` keeps those of them that are green. ``progress`` is called
    with each cell that is run as it begins (with None) and as it ends, and how many have not ended. An interrupt ends
    the running processes, and leaves the finished cells. PyTorch's results on the data set are shared by the cells of
    a model, and by a later run that keeps results made from the same. Raises InputError where the work folder is in use
    or cannot be written.
    """
    if jobs < 1:
        raise InputError(f"--jobs {jobs}: expected 1 or more")
    with ExitStack() as held:
        with writable(work_dir):
            work_dir.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked(work_dir))
            versions = installed_versions()
            sources = fingerprints(matrix, versions)
            earlier = _on_disk(matrix, work_dir) if resume or rerun_failed else {}
            results = {
                cell: result
                for cell, result in earlier.items()
                if result.made_from == sources[cell] and (result.state is State.PASSED or not rerun_failed)
            }
            changed = _changed(earlier, sources)
            reference_results = work_dir / REFERENCE_RESULTS
            if changed or not earlier:
                shutil.rmtree(reference_results, ignore_errors=True)
            regression = Regression(matrix, work_dir, results, len(results), changed, versions, machine())
            waiting = [cell for cell in matrix.cells if cell.excluded is None and cell.id not in results]
            for cell in waiting:
                result_file(work_dir, cell.id).unlink(missing_ok=True)
            write_reports(regression)
        stop = Event()
        commands = Commands(zooport, reference_results, matrix.limit, matrix.gate_split)
        runs = [CellRun(cell, commands, work_dir, matrix.timeout_seconds, sources[cell.id], stop) for cell in waiting]

        def tell(cell: Cell, result: Result | None) -> None:
            progress(cell, result, sum(other.id not in results for other in waiting))

        try:
            with closing(_ended(runs, jobs, stop, tell)) as ended:
                for run, result in ended:
                    results[run.cell.id] = result
                    write_reports(regression)
                    tell(run.cell, result)
        except KeyboardInterrupt as error:
            results.update(_on_disk(matrix, work_dir))
            write_reports(regression)
            error.add_note(f"{len(results)} of {len(matrix.cells)} cells have a result, and --resume keeps it")
            raise
    return regression


def _on_disk(matrix: Matrix, work_dir: Path) -> dict[str, Result]:
    """The results that runs have written, by the cells' ids."""
    results = {cell.id: Result.read(work_dir, cell.id) for cell in matrix.cells if cell.excluded is None}
    return {cell: result for cell, result in results.items() if result is not None}


def _changed(earlier: Mapping[str, Result], sources: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """What of the fingerprints is another now, for any of the cells."""
    return tuple(
        sorted(
            {
                key
                for cell, result in earlier.items()
                for key, value in sources[cell].items()
                if result.made_from.get(key) != value
            }
        )
    )


def _ended(
    runs: list[CellRun], jobs: int, stop: Event, tell: Callable[[Cell, None], None]
) -> Generator[tuple[CellRun, Result]]:
    """Each run with its result as it ends. Whatever goes wrong here or in the caller ends those that still run.

    A result is on the disk before its thread begins the next run, so that an interruption does not lose it.
    """

    def complete(run: CellRun) -> Result:
        tell(run.cell, None)
        result = run.run()
        result.write(run.work_dir, run.cell.id)
        return result

    with ThreadPoolExecutor(jobs) as pool:
        try:
            futures = {pool.submit(complete, run): run for run in runs}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
