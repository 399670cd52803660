"""Deploying: from a config to a proved deployment on disk, in one go."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backends import Deployment
from backends.backend import Built
from pipeline.base.steps import PUBLISH, BeginStep, unseen
from pipeline.job.job import Job, plan_job
from pipeline.parity.records import ParityRecord
from pipeline.precision.calibration import check_calibration
from pipeline.preflight import Finding
from pipeline.proof.fallback_runtime import open_deployment
from pipeline.proof.metric_gate import check_judgeable
from pipeline.publishing.publish import is_published, publication
from pipeline.stages import export, measure, prepare, prove, stage, write_records
from rewriters import ExportRecord
from zoo.config import ConfigSource
from zoo.errors import InputError
from zoo.target import Target

DEFAULT_WORK_DIR = "work_dirs"


@dataclass(frozen=True)
class Deployed:
    """What a deploy left: the loaded ``deployment``, the ``place`` where it lies, and what was measured.

    ``deployment.note``: what runs it where its own backend cannot.
    ``findings``: what is known of this graph on the target's backend. ``engine``: what the backend built and how long
    that took, None where it builds nothing. ``kept``: folders of files that somebody put into the old
    deployment's folder meanwhile.
    """

    deployment: Deployment
    place: Path
    record: ParityRecord
    export: ExportRecord
    findings: tuple[Finding, ...] = ()
    engine: Built | None = None
    kept: tuple[Path, ...] = ()


def deploy(
    config: ConfigSource,
    target: Target | None = None,
    images: Sequence[str | Path] = (),
    *,
    checkpoint: str | Path | None = None,
    work_dir: str | Path = DEFAULT_WORK_DIR,
    allow_parity_failure: bool = False,
    calibration: Sequence[str | Path] = (),
    reference_results: str | Path | None = None,
) -> Deployment:
    """Export a model, build it for the target's backend, prove it and publish it. Returns the loaded deployment.

    If the backend cannot run here, the returned deployment runs in the default backend, and its ``note`` says so.
    ``target``: None for the config's own. ``images``: files to compare and draw; if fewer than two of them differ, the
    config's data set adds more. ``calibration``: images, or folders of them, on which the ranges of fp16 and int8 are
    measured instead of the config's. ``reference_results``: a folder where PyTorch's results on the data set are found
    and kept, for every deploy below fp32 and every evaluation of the same model. Raises InputError, ExportError,
    BackendUnavailableError, and ParityMissedError if a gate was missed (then nothing is published, unless
    ``allow_parity_failure``).
    """
    job = plan_job(config, target, images, work_dir, calibration, reference_results)
    return make_deployment(job, checkpoint, allow_parity_failure=allow_parity_failure).deployment


def make_deployment(
    job: Job,
    checkpoint: str | Path | None = None,
    *,
    allow_parity_failure: bool = False,
    progress: BeginStep = unseen,
) -> Deployed:
    """The planned deploy, with all that was measured.

    ``progress`` is called with each of `deploy_steps` as it begins, but for CHECK, which is the plan's.
    ``checkpoint``: weights in place of the config's. Raises as ``deploy`` does.
    """
    kept: list[Path] = []
    with _telling_what_lies_there() as begun:
        _check_judged(job, allowed=allow_parity_failure)
        with publication(job.place, kept.append) as folder:
            begun.append((job.place, folder.stat()))
            prepared = prepare(job, folder, checkpoint, progress)
            exported = export(prepared, progress)
            staged = stage(prepared, exported, progress)
            proved = prove(prepared, progress, allowed=allow_parity_failure)
            measured = measure(prepared, progress)
            write_records(prepared, exported, staged, proved, measured, progress)
            progress(PUBLISH)
        deployment = open_deployment(job.place).deployment
        return Deployed(
            deployment, job.place, proved.record, exported.record, exported.findings, staged.engine, tuple(kept)
        )


def _check_judged(job: Job, *, allowed: bool) -> None:
    """Raises InputError where nothing could judge a precision below fp32, or there is nothing to calibrate it on."""
    if job.target.precision == "fp32":
        if job.calibration:
            raise InputError("calibration images with precision fp32: they have no effect; leave them out")
        return
    if not allowed:
        check_judgeable(job)
    check_calibration(job, job.target.precision_options.calibration_images)


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
