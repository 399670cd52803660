"""Evaluating: the same data, the same rule of resizing, the same post-processing and metric for every backend."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from mmengine.config import Config
from torch import nn

from backends import load
from pipeline.deploy_target import deploy_target
from pipeline.describe import config_sha256, versions, weights_sha256
from pipeline.evaluation.bootstrap import paired_interval
from pipeline.evaluation.candidate import Candidate, candidates, deployed, fixed_rule
from pipeline.evaluation.hooks import Progress
from pipeline.evaluation.leg import Judged
from pipeline.evaluation.plan import make_gate_split, plan_evaluation
from pipeline.evaluation.processes import by_the_first, is_first, processes, threads_each
from pipeline.evaluation.records import MISSED, NOT_JUDGED, PASSED, Evaluation, Row
from pipeline.evaluation.reference import REFERENCE_BACKEND, reference_model
from pipeline.evaluation.session import Session
from pipeline.lock import locked
from pipeline.parity.gates import merged_gates
from pipeline.steps import Progress as Steps
from zoo.build import build_model
from zoo.config import load_config
from zoo.errors import InputError, nearest
from zoo.preprocess import Preprocess
from zoo.target import BACKENDS

DEFAULT_BACKENDS = (REFERENCE_BACKEND, "onnxruntime")
GATES = {"points": "points", "dB": "decibels"}  # a metric's unit -> the name of its gate


def evaluate(
    config: str | Path | Config,
    backends: Sequence[str] = (),
    deployments: Sequence[str | Path] = (),
    *,
    precision: str | None = None,
    checkpoint: str | Path | None = None,
    work_dir: str | Path = "work_dirs",
    device: str = "cpu",
    limit: int | None = None,
    batch_size: int = 1,
    resume: bool = False,
    gate_split: bool = False,
    show_dir: str | Path | None = None,
    launcher: str = "none",
    progress: Progress | None = None,
    steps: Steps | None = None,
) -> Evaluation:
    """The metric of the unpatched model and of each deployment, on the config's data set.

    ``backends``: those whose deployment lies, or is first made, under ``work_dir``; with neither these nor
    ``deployments``, PyTorch and ONNX Runtime. The unpatched model is always run: it is what the others are held
    against. ``limit``: the first images alone. ``resume``: take up the results of an earlier run. ``gate_split``: the
    config's ``gate_dataset``. ``launcher``: "pytorch" under torchrun; the first process then has the whole outcome.
    ``progress`` is told (name, images done, images in all), ``steps`` the steps of a deploy.
    Raises InputError (all faults of the data set together, before the first image) and what a deploy raises.
    """
    _check(backends, batch_size)
    if not backends and not deployments:
        backends = DEFAULT_BACKENDS
    if not isinstance(config, Config):
        config = load_config(config)
    with ExitStack() as held:
        device = held.enter_context(processes(launcher, device))
        if gate_split:
            by_the_first(lambda: make_gate_split(config, progress))
        plan = plan_evaluation(config, work_dir, limit=limit, gate_split=gate_split)
        model = build_model(config, checkpoint)
        weights = weights_sha256(model)
        folders = [Path(folder) for folder in deployments]
        for backend in dict.fromkeys(backends):
            if backend != REFERENCE_BACKEND:
                target = deploy_target(config, backend=backend, precision=precision, device=device)
                make = partial(deployed, config, target, weights, checkpoint, work_dir, steps)
                folders.append(by_the_first(make))
        found = candidates(config, folders, weights)
        plan.place.mkdir(parents=True, exist_ok=True)
        if is_first():
            held.enter_context(locked(plan.place))
        session = Session(plan, batch_size, resume, None if show_dir is None else Path(show_dir), launcher, progress)
        rows = tuple(_rows(session, model, weights, found, device))
    metric = plan.metric()
    return Evaluation(
        config=str(config.filename),
        dataset=plan.section["type"],
        images=len(plan.dataset),
        metric=None if metric is None else metric.main_key,
        unit=None if metric is None else metric.unit,
        rows=rows,
    )


def _check(backends: Sequence[str], batch_size: int) -> None:
    if batch_size < 1:
        raise InputError(f"--batch-size {batch_size}: expected 1 or more")
    for backend in backends:
        if backend not in BACKENDS:
            raise InputError(f'unknown backend "{backend}"; {nearest(backend, BACKENDS)}')


def _rows(session: Session, model: nn.Module, weights: str, found: Sequence[Candidate], device: str) -> Iterator[Row]:
    """The reference for each size of the input that occurs, the config's first, each with its deployments behind it."""
    own = fixed_rule(session.plan.config)
    rules = dict.fromkeys(candidate.manifest.preprocess for candidate in found) or {own: None}
    for rule in sorted(rules, key=lambda rule: rule != own):
        name = REFERENCE_BACKEND if rule == own else f"{REFERENCE_BACKEND}, {_words(rule)}"
        reference = _reference(session, name, model, weights, rule, device)
        yield Row(name, REFERENCE_BACKEND, "fp32", None, reference.figures, reference.seconds, reference.resumed)
        for candidate in found:
            if candidate.manifest.preprocess == rule:
                yield _compared(session, _candidate(session, candidate), reference, candidate)


def _reference(session: Session, name: str, model: nn.Module, weights: str, rule: Preprocess, device: str) -> Judged:
    plan = session.plan
    made_from = {
        "weights": weights,
        "config": config_sha256(plan.config),
        "preprocess": rule.to_dict(),
        "device": device,
        "versions": versions(),
    }
    with reference_model(
        plan.config, plan.task, model, rule, batch_size=session.batch_size, device=device
    ) as image_model:
        return session.judged(name, image_model, made_from)


def _candidate(session: Session, candidate: Candidate) -> Judged:
    manifest = candidate.manifest
    made_from = {"manifest": manifest.to_dict(), "versions": versions()}
    with load(candidate.folder, threads=threads_each(candidate.manifest.threads)) as deployment:
        return session.judged(candidate.name, deployment, made_from)


def _compared(session: Session, judged: Judged, reference: Judged, candidate: Candidate) -> Row:
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
    metric = session.plan.metric()
    if metric is None:
        return row
    gate = merged_gates(session.plan.config.get("gates"), precision)["metric"][GATES[metric.unit]]
    difference = judged.figures[metric.main_key] - reference.figures[metric.main_key]
    if math.isnan(difference):
        raise InputError(
            f"{metric.main_key} is not a number: there is nothing to judge in {len(session.plan.dataset)} images; "
            "give more images, or a data set with truth"
        )
    interval = paired_interval(metric, reference.per_image, judged.per_image) if is_first() else None
    verdict = PASSED if abs(difference) <= gate else MISSED
    return replace(row, difference=difference, interval=interval, gate=gate, verdict=verdict)


def _words(rule: Preprocess) -> str:
    """The size of the input, for a name."""
    return "own sizes" if rule.size is None else f"{rule.size[0]}x{rule.size[1]}"
