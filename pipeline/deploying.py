"""Deploying: from a config to a proved deployment on disk, in one go."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from torch import nn

from backends import Deployment
from backends.backend import Built
from backends.registry import get_backend
from pipeline.base.steps import (
    BUILD,
    CHECK,
    ENGINE,
    EXPORT,
    GRAPH,
    MEASURE,
    METRIC,
    PIPELINE,
    PUBLISH,
    REFERENCE,
    REPORT,
    BeginStep,
    unseen,
)
from pipeline.export.constants import compared_constants
from pipeline.export.dtype_counts import computed_as_stored, computed_dtypes, fallback
from pipeline.export.engine_step import engine_step
from pipeline.export.export_step import export_step, measured
from pipeline.export.host_windows import host_windows
from pipeline.export.manifest import manifest
from pipeline.export.preflight_step import preflight_step
from pipeline.export.reference_run import ReferenceRun, run_reference
from pipeline.job.job import Job, plan_job
from pipeline.parity.errors import ParityMissedError
from pipeline.parity.graph_parity import graph_parity
from pipeline.parity.manifest_parity import manifest_failures
from pipeline.parity.pipeline_parity import pipeline_cases
from pipeline.parity.records import ComparedConstant, ParityRecord, dump_json, recorded
from pipeline.precision.calibration import check_calibration
from pipeline.preflight import Finding
from pipeline.proof.added_images import with_added_images
from pipeline.proof.fallback_runtime import open_deployment, rounded_deployment
from pipeline.proof.latency import latency
from pipeline.proof.metric_gate import check_judgeable, metric_figures
from pipeline.proof.module_errors import module_errors
from pipeline.proof.previews import draw_previews
from pipeline.publishing.own_files import PARITY_FILE
from pipeline.publishing.publish import is_published, publication
from pipeline.report.card_facts import card_of
from pipeline.report.deployment_page import ReportData, write_report
from pipeline.self_test.case import self_test_case
from pipeline.self_test.writing import with_self_test
from rewriters import ExportRecord
from zoo.build import build_model
from zoo.config import ConfigSource
from zoo.preprocess import Preprocess
from zoo.target import Target
from zoo.tasks import Result
from zoo.tasks.proof import Compared, proof_of
from zoo.tasks.scatter import Histogram, Scatter

DEFAULT_WORK_DIR = "work_dirs"
ROUNDED = "every fp16 result rounded to fp16"
NO_RESULTS = "Output level {level} has no results, so the pipeline comparison is that of the input tensor."


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
) -> Deployment:
    """Export a model, build it for the target's backend, prove it, publish it; the loaded deployment.

    Where the backend cannot run here, what is given runs in the default one instead, and its ``note`` says so.
    ``target``: None for the config's own. ``images``: files to compare and draw; fewer than two contents are filled
    up from the config's data set. ``calibration``: images, or folders of them, that ranges of fp16 and int8 are
    measured on, in place of the config's. Raises InputError, ExportError, BackendUnavailableError, and
    ParityMissedError where a gate was missed (then nothing is published, unless ``allow_parity_failure``).
    """
    return make_deployment(
        config,
        target,
        images,
        checkpoint=checkpoint,
        work_dir=work_dir,
        allow_parity_failure=allow_parity_failure,
        calibration=calibration,
    ).deployment


def make_deployment(
    config: ConfigSource,
    target: Target | None = None,
    images: Sequence[str | Path] = (),
    *,
    checkpoint: str | Path | None = None,
    work_dir: str | Path = DEFAULT_WORK_DIR,
    allow_parity_failure: bool = False,
    calibration: Sequence[str | Path] = (),
    progress: BeginStep | None = None,
) -> Deployed:
    """As ``deploy``, with all that was measured. ``progress`` is called with each of `deploy_steps` as it begins."""
    progress = progress or unseen
    kept: list[Path] = []
    with _telling_what_lies_there() as begun:
        progress(CHECK)
        job = plan_job(config, target, images, work_dir, calibration)
        if job.target.precision != "fp32":
            if not allow_parity_failure:
                check_judgeable(job)
            check_calibration(job, job.target.precision_options.calibration_images)
        with publication(job.place, kept.append) as folder:
            begun.append((job.place, folder.stat()))
            progress(BUILD)
            model = build_model(job.config, checkpoint)
            windows = host_windows(model, job.target)
            progress(REFERENCE)
            reference = run_reference(job, model)
            test = self_test_case(job, model, reference)
            if test is not None:
                reference = replace(reference, graph=[*reference.graph, test.reference])
            job, reference = with_added_images(job, model, reference)
            progress(EXPORT)
            export = export_step(job, model, reference, folder, windows, progress)
            export, findings = preflight_step(job.target, folder, export)
            if get_backend(job.target.backend).files:
                progress(ENGINE)
            engine = engine_step(job.target, folder, model, export.precision, windows)
            arrays = job.contract(model).default_arrays() | dict(reference.graph[0].given.arrays)
            computed = computed_dtypes(job.target, folder, engine, arrays)
            described = manifest(job, model, export, folder, windows, computed)
            described.write(folder)
            constants = compared_constants(job, model, reference.graph, folder, windows)
            record, results = _parity(
                job, model, reference, folder, progress, constants=constants, allowed=allow_parity_failure
            )
            progress(MEASURE)
            modules = module_errors(job, model, folder, windows)
            times = latency(job, model, folder, arrays)
            progress(REPORT)
            described = replace(described, parity={"verdict": record.verdict})
            described = with_self_test(job, test, reference.rule, folder, described)
            described.write(folder)
            measures = dump_json(
                record.to_dict()
                | {
                    "export": measured(export),
                    "modules": modules.to_dict(),
                    "latency": [row._asdict() for row in times],
                }
            )
            (folder / PARITY_FILE).write_text(measures, encoding="utf-8")
            previews = draw_previews(job, reference, results, folder)
            data = ReportData(
                described,
                record,
                export,
                previews,
                scatter=_scatter(job, reference, results),
                card=card_of(job.config),
                findings=findings,
                engine=engine,
                modules=modules,
                latency=times,
            )
            write_report(folder, data)
            progress(PUBLISH)
        deployment = open_deployment(job.place).deployment
        return Deployed(deployment, job.place, record, export, findings, engine, tuple(kept))


def _scatter(job: Job, reference: ReferenceRun, results: Sequence[Result | None]) -> Scatter | Histogram | None:
    """What both found in the very tensors that the deployment made; None where the output level has no results."""
    pairs = [
        Compared(image.name, expected.placed, expected.production, result)
        for image, expected, result in zip(job.images, reference.pipeline, results, strict=True)
        if result is not None
    ]
    return proof_of(job.task).scatter(pairs, job.gates["graph"]) if pairs else None


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


def _parity(
    job: Job,
    model: nn.Module,
    reference: ReferenceRun,
    folder: Path,
    progress: BeginStep,
    *,
    constants: tuple[ComparedConstant, ...],
    allowed: bool,
) -> tuple[ParityRecord, list[Result | None]]:
    """Both comparisons against the deployment as it lies in ``folder``, and its results for the job's images.

    Below fp32 they are recorded, and the metric decides. Raises ParityMissedError where a gate was missed and that is
    not allowed.
    """
    target, gates = job.target, job.gates
    opened = open_deployment(folder)
    metric = None
    with opened.deployment as staged:
        level, staged_manifest = staged.level, staged.manifest
        progress(GRAPH)
        cases = list(
            graph_parity(staged.runner, reference.graph, job.task, target.level, gates["graph"], reference.rule)
        )
        progress(PIPELINE)
        compared = pipeline_cases(staged, job.images, reference.pipeline, gates, reference.rule)
        if target.precision != "fp32":
            progress(METRIC)
            with ExitStack() as held:
                candidates = {"": staged}
                if job.target.precision == "fp16" and opened.note is None and not computed_as_stored(staged.manifest):
                    candidates[ROUNDED] = held.enter_context(rounded_deployment(folder))
                metric = metric_figures(job, model, candidates, progress, allowed=allowed)
    notes = () if level == "final" else (NO_RESULTS.format(level=level),)
    notes = (*notes, *fallback(staged_manifest), *filter(None, [opened.note]))
    all_cases = (*cases, *(case for case, _ in compared))
    if metric is not None:
        all_cases = tuple(recorded(case) for case in all_cases)
    record = ParityRecord(
        gates,
        all_cases,
        notes,
        allowed=allowed,
        by_engine=opened.note is None,
        metric=metric,
        manifest=tuple(manifest_failures(staged_manifest, job.task, Preprocess.from_dict(job.preprocess))),
        constants=constants,
        exercised=reference.exercised,
    )
    if not (record.passed or allowed):
        raise ParityMissedError(record)
    return record, [result for _, result in compared]
