"""Deploying: from a config to a proved deployment on disk, in one go."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mmengine.config import Config

from backends import Deployment, load
from pipeline.describe import manifest
from pipeline.export_step import export_step, measured
from pipeline.host_windows import host_windows
from pipeline.job import Job, plan_job
from pipeline.parity.graph_parity import graph_parity
from pipeline.parity.missed import ParityMissedError
from pipeline.parity.pipeline_parity import pipeline_case
from pipeline.parity.records import ParityRecord, dump_json
from pipeline.plugin_runner import plugin_deployment
from pipeline.previews import draw_previews
from pipeline.publish import is_published, publication
from pipeline.reference_run import ReferenceRun, run_reference
from pipeline.report import write_report
from pipeline.steps import STEPS, Progress
from rewriters import ExportRecord
from zoo.build import build_model
from zoo.manifest import Manifest
from zoo.structures import Result
from zoo.target import Target

PARITY_FILE = "parity.json"
DEFAULT_WORK_DIR = "work_dirs"
NO_RESULTS = "Output level {level} has no results, so the pipeline comparison is that of the input tensor."

BY_REFERENCE = (
    "Plugin nodes were run by their reference implementations in numpy, what is before them by ONNX Runtime; no engine "
    "has run this file."
)


@dataclass(frozen=True)
class Deployed:
    """What a deploy left: the loaded ``deployment``, the ``place`` where it lies, and what was measured."""

    deployment: Deployment
    place: Path
    record: ParityRecord
    export: ExportRecord


def deploy(
    config: str | Path | Config,
    target: Target | None = None,
    images: Sequence[str | Path] = (),
    *,
    checkpoint: str | Path | None = None,
    work_dir: str | Path = DEFAULT_WORK_DIR,
    allow_parity_failure: bool = False,
) -> Deployment:
    """Export a model, build it for the target's backend, prove it, publish it; the loaded deployment.

    ``target``: None for the config's own. ``images``: files to compare and draw; fewer than two contents are filled
    up from the config's data set. Raises InputError, ExportError, BackendUnavailableError, and ParityMissedError where
    a gate was missed (then nothing is published, unless ``allow_parity_failure``).
    """
    return make_deployment(
        config,
        target,
        images,
        checkpoint=checkpoint,
        work_dir=work_dir,
        allow_parity_failure=allow_parity_failure,
    ).deployment


def make_deployment(
    config: str | Path | Config,
    target: Target | None = None,
    images: Sequence[str | Path] = (),
    *,
    checkpoint: str | Path | None = None,
    work_dir: str | Path = DEFAULT_WORK_DIR,
    allow_parity_failure: bool = False,
    progress: Progress | None = None,
) -> Deployed:
    """As ``deploy``, with all that was measured. ``progress`` is called with each of STEPS as it begins."""
    progress = progress or _unseen
    with _telling_what_lies_there() as begun:
        progress(STEPS[0])
        job = plan_job(config, target, images, work_dir)
        with publication(job.place) as folder:
            begun.append((job.place, folder.stat()))
            progress(STEPS[1])
            model = build_model(job.config, checkpoint)
            windows = host_windows(model, job.target)
            progress(STEPS[2])
            reference = run_reference(job, model)
            progress(STEPS[3])
            export = export_step(job, model, reference, folder, windows)
            described = manifest(job, model, export, folder, windows)
            described.write(folder)
            record, results = _parity(job, reference, folder, progress, allowed=allow_parity_failure)
            progress(STEPS[6])
            described = replace(described, parity={"verdict": record.verdict})
            described.write(folder)
            measures = dump_json(record.to_dict() | {"export": measured(export)})
            (folder / PARITY_FILE).write_text(measures, encoding="utf-8")
            write_report(folder, described, record, export, draw_previews(job, reference, results, folder))
            progress(STEPS[7])
        return Deployed(_opened(job.place), job.place, record, export)


@contextmanager
def _telling_what_lies_there() -> Iterator[list[tuple[Path, os.stat_result]]]:
    """Adds a note to an exception: the new deployment was published all the same, or an interruption was in time.

    Yields a list for the place and the stat of the folder that is to take it.
    """
    begun: list[tuple[Path, os.stat_result]] = []
    try:
        yield begun
    except BaseException as error:
        published = [place for place, staged in begun if is_published(place, staged)]
        if published:
            error.add_note(f"{published[0]} was published")
        elif isinstance(error, KeyboardInterrupt):
            error.add_note("nothing was published")
        raise


def _opened(folder: Path) -> Deployment:
    """Files with plugin nodes are run by their reference, all others by the backend."""
    return plugin_deployment(folder) if Manifest.read(folder).output_level == "plugin" else load(folder)


def _unseen(step: str) -> None:
    """Nobody looks at the progress."""


def _parity(
    job: Job, reference: ReferenceRun, folder: Path, progress: Progress, *, allowed: bool
) -> tuple[ParityRecord, list[Result | None]]:
    """Both comparisons against the deployment as it lies in ``folder``, and its results for the job's images.

    Raises ParityMissedError where a gate was missed and that is not allowed.
    """
    target, gates = job.target, job.gates
    with _opened(folder) as staged:
        level = staged.level
        progress(STEPS[4])
        cases = list(
            graph_parity(staged.runner, reference.graph, job.task.name, target.level, gates["graph"], reference.rule)
        )
        progress(STEPS[5])
        compared = [
            pipeline_case(staged, image, expected, gates, reference.rule)
            for image, expected in zip(job.images, reference.pipeline, strict=True)
        ]
    notes = () if level == "final" else (NO_RESULTS.format(level=level),)
    by_engine = level != "plugin"
    notes = notes if by_engine else (*notes, BY_REFERENCE)
    all_cases = (*cases, *(case for case, _ in compared))
    record = ParityRecord(gates, all_cases, notes, allowed=allowed, by_engine=by_engine)
    if not (record.passed or allowed):
        raise ParityMissedError(record)
    return record, [result for _, result in compared]
