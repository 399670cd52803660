"""Below fp32 the metric on a data set decides: that of the deployment against that of the unpatched model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from torch import nn

from backends.model import Model
from pipeline.base.steps import BeginStep
from pipeline.base.weights import weights_sha256
from pipeline.evaluation.input_policy import InputPolicy
from pipeline.evaluation.plan import make_gate_split, plan_evaluation
from pipeline.evaluation.reference import reference_model
from pipeline.evaluation.run_dataset import Judged
from pipeline.evaluation.session import Session
from pipeline.job.job import Job
from pipeline.parity.gates import metric_gate
from pipeline.parity.records import MetricFigure
from pipeline.proof.reference_record import reference_made_from
from zoo.errors import InputError
from zoo.progress import Progress
from zoo.target import REFERENCE_BACKEND


def check_judgeable(job: Job) -> None:
    """Raises InputError where no metric can decide; known before the long work."""
    requirement = f"precision {job.target.precision} is judged by the metric on a data set"
    remedy = "or give --allow-parity-failure, and the manifest says that nothing judged it"
    if not job.target.has_results:
        raise InputError(
            f"{requirement}, which output level {job.target.level} does not have; give --output-level final, {remedy}"
        )
    config = job.config
    if config.evaluator is None or (config.dataset is None and config.gate_dataset is None):
        which = "" if job.task.metric is not None else f" of your own (task {job.task.name} has no metric)"
        raise InputError(f"{requirement}; config {config.path} has no dataset and evaluator: add them{which}, {remedy}")


def metric_figures(
    job: Job, model: nn.Module, candidates: Mapping[str, Model], progress: BeginStep, *, allowed: bool
) -> tuple[MetricFigure, ...] | str:
    """The main metric of each candidate, by what it is, and of the model.

    On the config's gate split, or its data set where it has none; ``progress`` is called with how far it is.
    ``allowed``: where nothing can be measured, the reason is given; else it is raised as InputError.
    """
    try:
        check_judgeable(job)
        return _measured(job, model, candidates, progress)
    except InputError as error:
        if not allowed:
            raise
        return f"nothing was measured: {error}"


def _measured(
    job: Job, model: nn.Module, candidates: Mapping[str, Model], progress: BeginStep
) -> tuple[MetricFigure, ...]:
    def count(name: str, done: int, total: int) -> None:
        progress(f"{name}, {done}/{total} {job.task.kind.plural}")

    with metric_judge(job, model, count) as (metric, reference, value):
        gate = metric_gate(job.gates, metric.unit)
        return tuple(
            MetricFigure(
                name=metric.main_key,
                unit=metric.unit,
                images=metric.images,
                reference=reference,
                value=value(candidate, what or "the deployment"),
                gate=gate,
                what=what,
            )
            for what, candidate in candidates.items()
        )


class JudgingMetric(NamedTuple):
    """``main_key``: the figure that judges, in ``unit``, on so many ``images``."""

    main_key: str
    unit: str
    images: int


class Value(Protocol):
    """The main figure of a candidate; ``name`` is for those who watch."""

    def __call__(self, candidate: Model, name: str = "the deployment") -> float:
        """It is run on all images."""


@contextmanager
def metric_judge(
    job: Job, model: nn.Module, count: Progress, limit: int | None = None
) -> Iterator[tuple[JudgingMetric, float, Value]]:
    """The metric, its main figure of the model, and what measures that of a candidate.

    On the first ``limit`` images (None: all) of the gate split, or of the data set where the config has none.
    The job's is one that check_judgeable takes.
    """
    gate_split = job.config.gate_dataset is not None
    if gate_split:
        make_gate_split(job.config, count)
    input_policy = InputPolicy(job.preprocess, image_sizes=job.target.image_sizes)
    with TemporaryDirectory(prefix="zooport-metric-") as folder:
        plan = replace(plan_evaluation(job.config, folder, limit=limit, gate_split=gate_split), place=Path(folder))
        metric = plan.metric()
        assert metric is not None  # check_judgeable
        session = Session(
            plan=plan,
            device="cpu",
            provider=None,
            batch_size=job.target.batch.opt,
            resume=False,
            show_dir=None,
            launcher="none",
            progress=count,
            steps=None,
            reference_results=job.reference_results,
        )

        def main_figure(judged: Judged) -> float:
            return float(judged.figures[metric.main_key])

        def value(candidate: Model, name: str = "the deployment") -> float:
            return main_figure(session.judged(name, candidate, {}))

        made_from = reference_made_from(job.config, model, weights_sha256(model), input_policy, session.device)
        with reference_model(
            job.config, job.task, model, input_policy, batch_size=1, device=session.device
        ) as reference:
            expected = main_figure(session.judged(REFERENCE_BACKEND, reference, made_from, job.reference_results))
        yield JudgingMetric(metric.main_key, metric.unit, len(plan.dataset)), expected, value
