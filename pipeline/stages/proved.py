"""The proof of a deployment: both comparisons with the unpatched model, and below fp32 the metric."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from backends import Deployment
from pipeline.base.steps import GRAPH, METRIC, PIPELINE, BeginStep
from pipeline.export.constants import compared_constants
from pipeline.export.dtype_counts import computed_as_stored, fallback
from pipeline.export.forward_options import forward_options
from pipeline.job.eager import job_runner
from pipeline.parity.errors import ParityMissedError
from pipeline.parity.graph_parity import graph_parity
from pipeline.parity.manifest_parity import manifest_failures
from pipeline.parity.pipeline_parity import pipeline_cases
from pipeline.parity.records import Case, MetricFigure, ParityRecord, recorded
from pipeline.proof.fallback_runtime import open_deployment, rounded_deployment
from pipeline.proof.metric_gate import metric_figures
from pipeline.stages.prepared import Prepared
from zoo.tasks import Result

ROUNDED = "every fp16 result rounded to fp16"
NO_RESULTS = "Output level {level} has no results, so the pipeline comparison is that of the input tensor."


@dataclass(frozen=True)
class Proved:
    """``results``: the deployment's, one for each image of the job; None where the output level has none."""

    record: ParityRecord
    results: Sequence[Result | None]


def prove(prepared: Prepared, progress: BeginStep, *, allowed: bool) -> Proved:
    """Compare the deployment, as it lies in its folder, with the unpatched model.

    Below fp32 the comparisons are recorded, and the metric decides. Raises ParityMissedError where a gate was missed
    and that is not ``allowed``.
    """
    job, reference, folder = prepared.job, prepared.reference, prepared.folder
    constants = compared_constants(job, prepared.model, reference.graph, folder, prepared.host)
    opened = open_deployment(folder)
    with opened.deployment as staged:
        cases, results = _compared(prepared, staged, progress)
        metric = None
        if job.target.precision != "fp32":
            progress(METRIC)
            metric = _metric(prepared, staged, progress, rounds=opened.note is None, allowed=allowed)
            cases = tuple(recorded(case) for case in cases)
        level, manifest = staged.level, staged.manifest
    notes = () if level == "final" else (NO_RESULTS.format(level=level),)
    record = ParityRecord(
        job.gates,
        cases,
        (*notes, *fallback(manifest), *filter(None, [opened.note])),
        allowed=allowed,
        by_engine=opened.note is None,
        metric=metric,
        manifest=tuple(manifest_failures(manifest, job.task, job.preprocess)),
        constants=constants,
        exercised=reference.exercised,
        inputs=job.task.kind.plural,
    )
    if not (record.passed or allowed):
        raise ParityMissedError(record, steady=_is_steady(prepared))
    return Proved(record, results)


def _compared(
    prepared: Prepared, staged: Deployment, progress: BeginStep
) -> tuple[tuple[Case, ...], Sequence[Result | None]]:
    """Identical tensors into both, then each image into both; and the deployment's results for the images."""
    job, reference = prepared.job, prepared.reference
    progress(GRAPH)
    cases = list(
        graph_parity(staged.runner, reference.graph, job.task, job.target.level, job.gates["graph"], reference.rule)
    )
    progress(PIPELINE)
    compared = pipeline_cases(staged, job.images, reference.pipeline, job.gates, reference.rule)
    return (*cases, *(case for case, _ in compared)), [result for _, result in compared]


def _is_steady(prepared: Prepared) -> bool:
    """Whether the model passes the graph comparison with itself, run again on the first case."""
    job, reference = prepared.job, prepared.reference
    with forward_options(job, prepared.model):
        again = job_runner(job, prepared.model)
        rest = (job.task, job.target.level, job.gates["graph"], reference.rule)
        (case,) = graph_parity(again, reference.graph[:1], *rest)
    return not case.findings.failures


def _metric(
    prepared: Prepared, staged: Deployment, progress: BeginStep, *, rounds: bool, allowed: bool
) -> tuple[MetricFigure, ...] | str:
    """The metric of the deployment; with ``rounds``, of an fp16 file whose kernels compute in fp32, rounded, too."""
    candidates = {"": staged}
    with ExitStack() as held:
        if prepared.job.target.precision == "fp16" and rounds and not computed_as_stored(staged.manifest):
            candidates[ROUNDED] = held.enter_context(rounded_deployment(prepared.folder))
        return metric_figures(prepared.job, prepared.model, candidates, progress, allowed=allowed)
