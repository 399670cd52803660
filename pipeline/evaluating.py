"""Evaluating: the same data, the same rule of resizing, the same post-processing and metric for every backend."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from torch import nn

from backends import load
from pipeline.base.device import reference_device
from pipeline.base.steps import BeginStep
from pipeline.candidate import Candidate, candidates, deployed
from pipeline.evaluation.arguments import check_arguments, check_backends
from pipeline.evaluation.bootstrap import PairedBootstrap
from pipeline.evaluation.input_policy import InputPolicy, default_policy
from pipeline.evaluation.plan import make_gate_split, plan_evaluation
from pipeline.evaluation.processes import by_the_first, is_first, processes, threads_each
from pipeline.evaluation.records import MISSED, NOT_JUDGED, PASSED, Evaluation, Row
from pipeline.evaluation.reference import reference_model
from pipeline.evaluation.run_dataset import Judged
from pipeline.evaluation.session import Session
from pipeline.export.manifest import config_sha256, versions, weights_sha256
from pipeline.job.deploy_target import deploy_target
from pipeline.parity.gates import merged_gates, metric_gate
from pipeline.publishing.lock import locked
from pipeline.publishing.writable import writable
from zoo.build import build_model
from zoo.config import ConfigSource, load_config
from zoo.errors import InputError
from zoo.metrics import Metric
from zoo.progress import Progress
from zoo.target import DEFAULT_BACKEND, REFERENCE_BACKEND

DEFAULT_BACKENDS = (REFERENCE_BACKEND, DEFAULT_BACKEND)


def evaluate(
    config: ConfigSource,
    backends: Sequence[str] = (),
    deployments: Sequence[str | Path] = (),
    *,
    precision: str | None = None,
    checkpoint: str | Path | None = None,
    work_dir: str | Path = "work_dirs",
    device: str | None = None,
    limit: int | None = None,
    batch_size: int = 1,
    resume: bool = False,
    gate_split: bool = False,
    show_dir: str | Path | None = None,
    launcher: str = "none",
    progress: Progress | None = None,
    steps: BeginStep | None = None,
) -> Evaluation:
    """The metric of the unpatched model and of each deployment, on the config's data set.

    ``backends``: those whose deployment lies, or is first made, under ``work_dir``; with neither these nor
    ``deployments``, PyTorch and the default backend. The unpatched model is always run: it is what the others are held
    against. ``limit``: the first images alone. ``resume``: take up the results of an earlier run. ``gate_split``: the
    config's ``gate_dataset``. ``launcher``: "pytorch" under torchrun; the first process then has the whole outcome.
    ``device``: where all of them run, PyTorch on the CPU where it has no such device; None for the CPU, and for what
    each deployment's manifest says. ``progress`` is called with (name, images done, images in all), ``steps`` with what
    else begins: those of a deploy, the metric. Raises InputError (all faults of the data set together, before the first
    image) and what a deploy raises.
    """
    if not backends and not deployments:
        backends = DEFAULT_BACKENDS
    check_arguments(
        backends,
        deployments,
        checkpoint=checkpoint,
        precision=precision,
        launcher=launcher,
        limit=limit,
        batch_size=batch_size,
    )
    config = load_config(config)
    check_backends(backends, device)
    with ExitStack() as held:
        requested_device, device = device, held.enter_context(processes(launcher, reference_device(device or "cpu")))
        provider = requested_device if device == "cpu" else device
        if precision not in (None, "fp32") and config.gate_dataset is not None:
            gate_split = True  # lower precision is judged on more images
        if gate_split:
            by_the_first(partial(make_gate_split, config, progress))
        plan = plan_evaluation(config, work_dir, limit=limit, gate_split=gate_split)
        model = build_model(config, checkpoint)
        weights = weights_sha256(model)
        folders = [Path(folder) for folder in deployments]
        for backend in dict.fromkeys(backends):
            if backend != REFERENCE_BACKEND:
                target = deploy_target(config, backend=backend, precision=precision, device=provider)
                make = partial(deployed, config, target, weights, checkpoint, work_dir, steps)
                folders.append(by_the_first(make))
        compared = candidates(config, folders, weights)
        held.enter_context(writable(plan.place))
        by_the_first(partial(_hold, plan.place, held))
        session = Session(
            plan=plan,
            device=device,
            provider=provider,
            batch_size=batch_size,
            resume=resume,
            show_dir=None if show_dir is None else Path(show_dir),
            launcher=launcher,
            progress=progress,
            steps=steps,
        )
        rows = tuple(_rows(session, model, weights, compared))
    metric = plan.metric()
    return Evaluation(
        config=str(config.path),
        dataset=plan.section["type"],
        images=len(plan.dataset),
        metric=None if metric is None else metric.main_key,
        unit=None if metric is None else metric.unit,
        rows=rows,
    )


def _hold(place: Path, held: ExitStack) -> None:
    """Make the folder of the results, and keep others out of it."""
    place.mkdir(parents=True, exist_ok=True)
    held.enter_context(locked(place))


def _rows(session: Session, model: nn.Module, weights: str, compared: Sequence[Candidate]) -> Iterator[Row]:
    """The reference for each size of the input that occurs, the config's first, each with its deployments behind it."""
    own_policy = default_policy(session.plan.config)
    metric = session.plan.metric()
    policies = dict.fromkeys(candidate.input_policy for candidate in compared) or {own_policy: None}
    for input_policy in sorted(policies, key=lambda input_policy: input_policy != own_policy):
        name = REFERENCE_BACKEND if input_policy == own_policy else f"{REFERENCE_BACKEND}, {input_policy.words}"
        reference = _reference(session, name, model, weights, input_policy)
        yield Row(name, REFERENCE_BACKEND, "fp32", None, reference.figures, reference.seconds, reference.resumed)
        bootstrap = None
        for candidate in compared:
            if candidate.input_policy != input_policy:
                continue
            judged = _candidate(session, candidate)
            if metric is not None and is_first():
                session.tell(f"{candidate.name}: the interval of the difference")
                bootstrap = bootstrap or PairedBootstrap(metric, reference.per_image)
            yield _compared(session, metric, judged, reference, candidate, bootstrap)


def _reference(session: Session, name: str, model: nn.Module, weights: str, input_policy: InputPolicy) -> Judged:
    plan = session.plan
    made_from = {
        "weights": weights,
        "config": config_sha256(plan.config),
        "preprocess": input_policy.rule.to_dict(),
        "image_sizes": input_policy.image_sizes,
        "device": session.device,
        "versions": versions(),
        "modules": plan.config.source_hashes(),
    }
    with reference_model(
        plan.config, plan.task, model, input_policy, batch_size=session.batch_size, device=session.device
    ) as image_model:
        return session.judged(name, image_model, made_from)


def _candidate(session: Session, candidate: Candidate) -> Judged:
    manifest = candidate.manifest
    threads = threads_each(manifest.threads)
    with load(candidate.folder, provider=session.provider, threads=threads) as deployment:
        if deployment.manifest != manifest:
            raise InputError(
                f"{candidate.folder}: another deployment has taken its place since the evaluation began; evaluate again"
            )
        made_from = {
            "manifest": manifest.to_dict(),
            "provider": session.provider,
            "versions": versions(manifest.backend),
            "modules": session.plan.config.source_hashes(),
        }
        return session.judged(candidate.name, deployment, made_from)


def _compared(
    session: Session,
    metric: Metric | None,
    judged: Judged,
    reference: Judged,
    candidate: Candidate,
    bootstrap: PairedBootstrap | None,
) -> Row:
    """A deployment's row, judged by the config's gate for its precision."""
    manifest = candidate.manifest
    precision = manifest.precision["stored"]
    row = Row(
        candidate.name,
        manifest.backend,
        precision,
        str(candidate.folder),
        judged.figures,
        judged.seconds,
        judged.resumed,
        verdict=NOT_JUDGED,
    )
    if metric is None:
        return row
    gates = merged_gates(session.plan.config.gates, precision, own=session.plan.task.own_gates)
    gate = metric_gate(gates, metric.unit)
    difference = judged.figures[metric.main_key] - reference.figures[metric.main_key]
    if math.isnan(difference):
        raise InputError(
            f"{metric.main_key} is not a number: there is nothing to judge in {len(session.plan.dataset)} images; "
            "give more images, or a data set with truth"
        )
    interval = None if bootstrap is None else bootstrap.interval(judged.per_image)
    verdict = PASSED if abs(difference) <= gate else MISSED
    return replace(row, difference=difference, interval=interval, gate=gate, verdict=verdict)
