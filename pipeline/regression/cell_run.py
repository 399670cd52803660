"""One cell: deploy, then evaluate, each in a process of its own."""

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from pipeline.regression.cell import Cell
from pipeline.regression.child import run_child
from pipeline.regression.result import CELLS, Measured, Result
from pipeline.regression.state import DEPLOY, EVALUATE, State, reason_of, state_of
from zoo.errors import InputError
from zoo.manifest import Manifest


@dataclass(frozen=True)
class Commands:
    """Command lines of both verbs, for one kind of evaluation. ``limit``: images, None for all.

    ``zooport``: the command that takes a verb and its arguments. ``reference_results``: the folder that the cells of a
    model share, so that PyTorch runs on the data set once.
    """

    zooport: Sequence[str]
    reference_results: Path
    limit: int | None = None
    gate_split: bool = False

    def deploy(self, cell: Cell, work_dir: Path, json_file: Path) -> list[str]:
        """Export, build, and compare with the unpatched model."""
        backend, precision, exporter = cell.column
        target = ["--backend", backend, "--precision", precision, "--exporter", exporter]
        return [*self._verb(DEPLOY, cell), *target, *self._files(work_dir, json_file)]

    def evaluate(self, cell: Cell, deployment: str, work_dir: Path, json_file: Path) -> list[str]:
        """The metric of a deployment beside that of the unpatched model."""
        limit = [] if self.limit is None else ["--limit", str(self.limit)]
        split = ["--gate-split"] if self.gate_split else []
        files = self._files(work_dir, json_file)
        return [*self._verb(EVALUATE, cell), "--deployment", deployment, *limit, *split, *files]

    def _verb(self, name: str, cell: Cell) -> list[str]:
        return [*self.zooport, name, cell.config]

    def _files(self, work_dir: Path, json_file: Path) -> list[str]:
        folders = ["--work-dir", str(work_dir), "--reference-results", str(self.reference_results)]
        return [*folders, "--json", str(json_file)]


@dataclass(frozen=True)
class _Step:
    """A tool's run. ``data``: what it wrote by --json, empty where it did not. ``code`` None: it took too long."""

    name: str
    code: int | None
    seconds: float
    data: Mapping[str, Any]
    log: Path


@dataclass
class CellRun:
    """``work_dir``: the matrix's. ``timeout_seconds``: of both steps together. ``stop``: ends the cell when set."""

    cell: Cell
    commands: Commands
    work_dir: Path
    timeout_seconds: float
    made_from: Mapping[str, Any]
    stop: Event
    steps: list[_Step] = field(default_factory=list)

    def run(self) -> Result:
        """Run both steps. Raises Stopped, and OSError where files cannot be written."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True)
        deadline = time.monotonic() + self.timeout_seconds
        deployed = self._step(DEPLOY, self.commands.deploy(self.cell, self.folder, self._json(DEPLOY)), deadline)
        if deployed.code != 0:
            return self._failed(deployed)
        deployment = deployed.data.get("deployment")
        if not isinstance(deployment, str):
            return self._result(State.FAULT, "zooport deploy ended with 0 and did not say where the deployment is")
        outcome: dict[str, Any] = {"deployment": self._relative(deployment), "bytes": _bytes(deployment)}
        command = self.commands.evaluate(self.cell, deployment, self.folder, self._json(EVALUATE))
        evaluated = self._step(EVALUATE, command, deadline)
        outcome["measured"], verdict = _measured(evaluated.data)
        if evaluated.code != 0:
            return self._failed(evaluated, **outcome)
        if verdict == "passed":
            return self._result(State.PASSED, "", **outcome)
        if verdict == "not judged":
            reason = f"{self.cell.config} has no evaluator, so that no metric could be compared"
            return self._result(State.NOT_JUDGED, reason, **outcome)
        return self._result(
            State.FAULT, "zooport evaluate ended with 0 and did not say that a metric passed", **outcome
        )

    @property
    def folder(self) -> Path:
        """All that the cell's processes write."""
        return self.work_dir / CELLS / self.cell.id

    def _json(self, step: str) -> Path:
        return self.folder / f"{step}.json"

    def _step(self, name: str, command: list[str], deadline: float) -> _Step:
        log = self.folder / f"{name}.log"
        start = time.monotonic()
        code = run_child(command, log, deadline=deadline, stop=self.stop)
        try:
            data = json.loads(self._json(name).read_bytes())
        except (OSError, ValueError):
            data = None
        step = _Step(name, code, time.monotonic() - start, data if isinstance(data, dict) else {}, log)
        self.steps.append(step)
        return step

    def _failed(self, step: _Step, **outcome: Any) -> Result:
        if step.code is None:
            words = f"zooport {step.name} had not ended {self.timeout_seconds:g} s after the cell began, and was killed"
            return self._result(State.TIMED_OUT, words, **outcome)
        reason = reason_of(step.name, step.code, step.data, step.log)
        return self._result(state_of(step.name, step.code, step.data), reason, **outcome)

    def _result(self, state: State, reason: str, **outcome: Any) -> Result:
        seconds: dict[str, Any] = {f"{step.name}_seconds": round(step.seconds, 1) for step in self.steps}
        logs = tuple(self._relative(step.log) for step in self.steps)
        return Result(state=state, reason=reason, logs=logs, made_from=self.made_from, **seconds, **outcome)

    def _relative(self, path: str | Path) -> str:
        return Path(os.path.relpath(path, self.work_dir)).as_posix()


def _measured(data: Mapping[str, Any]) -> tuple[Measured | None, str | None]:
    """What zooport evaluate wrote, and its verdict of the deployment; None where it wrote something else."""
    try:
        metric = data["metric"]
        reference = next(row for row in data["rows"] if row["verdict"] == "reference")
        row = next(row for row in data["rows"] if row["deployment"] is not None)
        figures = {
            "metric": metric,
            "unit": data["unit"],
            "images": data["dataset"]["images"],
            "figure": None if metric is None else row["figures"][metric],
            "reference": None if metric is None else reference["figures"][metric],
            **{key: row[key] for key in ("difference", "interval", "gate")},
        }
        return Measured.from_dict(figures), row["verdict"]
    except (KeyError, TypeError, StopIteration):
        return None, None


def _bytes(deployment: str) -> int | None:
    """Of the files that the runtime loads."""
    try:
        return sum(int(record["bytes"]) for record in Manifest.read(deployment).files.values())
    except InputError:
        return None
