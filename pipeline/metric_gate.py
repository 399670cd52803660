"""Below fp32 the metric on a data set decides: that of the deployment against that of the unpatched model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from torch import nn

from backends.image_model import ImageModel
from pipeline.evaluation.feeding import Feeding
from pipeline.evaluation.plan import make_gate_split, plan_evaluation
from pipeline.evaluation.reference import REFERENCE_BACKEND, reference_model
from pipeline.evaluation.session import Session
from pipeline.job import Job
from pipeline.parity.gates import GATE_OF_UNIT
from pipeline.parity.records import MetricFigure
from pipeline.steps import Progress
from zoo.errors import InputError
from zoo.preprocess import Preprocess


def check_judgeable(job: Job) -> None:
    """Raises InputError where no metric can decide; known before the long work."""
    asked = f"precision {job.target.precision} is judged by the metric on a data set"
    remedy = "or give --allow-parity-failure, and the manifest says that nothing judged it"
    if job.target.level != "final":
        raise InputError(f"{asked}, which output level {job.target.level} has not; give --output-level final, {remedy}")
    if "evaluator" not in job.config or not ("dataset" in job.config or "gate_dataset" in job.config):
        raise InputError(f"{asked}; config {job.config.filename} has no dataset and evaluator: add them, {remedy}")


def metric_figures(
    job: Job, model: nn.Module, candidates: Mapping[str, ImageModel], progress: Progress, *, allowed: bool
) -> tuple[MetricFigure, ...] | str:
    """The main metric of each candidate, by what it is, and of the model.

    On the config's gate split, or its data set where it has none; ``progress`` is told how far it is. ``allowed``:
    where nothing can be measured, the reason is given; else it is raised as InputError.
    """
    try:
        check_judgeable(job)
        return _measured(job, model, candidates, progress)
    except InputError as error:
        if not allowed:
            raise
        return f"nothing was measured: {error}"


def _measured(
    job: Job, model: nn.Module, candidates: Mapping[str, ImageModel], progress: Progress
) -> tuple[MetricFigure, ...]:
    def count(name: str, done: int, total: int) -> None:
        progress(f"{name}, {done}/{total} images")

    gate_split = "gate_dataset" in job.config
    if gate_split:
        make_gate_split(job.config, count)
    feeding = Feeding(Preprocess.from_dict(job.preprocess), image_sizes=job.target.image_sizes)
    with TemporaryDirectory(prefix="zooport-metric-") as folder:
        plan = replace(plan_evaluation(job.config, folder, limit=None, gate_split=gate_split), place=Path(folder))
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
        )
        with reference_model(job.config, job.task, model, feeding, batch_size=1, device="cpu") as reference:
            expected = session.judged(REFERENCE_BACKEND, reference, {})
        found = {
            what: session.judged(what or "the deployment", candidate, {}) for what, candidate in candidates.items()
        }
        metric = plan.metric()
    assert metric is not None  # check_judgeable
    return tuple(
        MetricFigure(
            name=metric.main_key,
            unit=metric.unit,
            images=len(plan.dataset),
            reference=float(expected.figures[metric.main_key]),
            value=float(judged.figures[metric.main_key]),
            gate=job.gates["metric"][GATE_OF_UNIT[metric.unit]],
            what=what,
        )
        for what, judged in found.items()
    )
