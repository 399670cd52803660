"""The rows of an evaluation: each model on all images, and the verdict on each deployment."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from torch import nn

from backends import Deployment, load
from backends.scale.shipped import deployment_contents
from pipeline.candidates.candidate import Candidate
from pipeline.evaluation.actor import ReferenceSubject
from pipeline.evaluation.bootstrap import PairedBootstrap
from pipeline.evaluation.input_policy import InputPolicy, default_policy
from pipeline.evaluation.judging import judged_row
from pipeline.evaluation.processes import is_first, threads_each
from pipeline.evaluation.records import NOT_JUDGED, Row
from pipeline.evaluation.reference import reference_model
from pipeline.evaluation.run_dataset import Judged
from pipeline.evaluation.session import Session
from pipeline.export.manifest import versions
from pipeline.proof.reference_record import reference_made_from
from zoo.errors import InputError
from zoo.manifest import Manifest
from zoo.target import REFERENCE_BACKEND


class Unpatched(NamedTuple):
    """The unpatched model, the sha256 of its weights, and the checkpoint instead of the config's."""

    model: nn.Module
    weights: str
    checkpoint: str | Path | None


def judged_rows(session: Session, unpatched: Unpatched, compared: Sequence[Candidate]) -> Iterator[Row]:
    """The reference for each size of the input that occurs, the config's first, each with its deployments behind it.

    Raises what opening a deployment raises, before anything runs.
    """
    if session.pool is None:
        for candidate in compared:
            _opened(session, candidate).close()
    own_policy = default_policy(session.plan.config)
    metric = session.plan.metric()
    policies = dict.fromkeys(candidate.input_policy for candidate in compared) or {own_policy: None}
    for input_policy in sorted(policies, key=lambda input_policy: input_policy != own_policy):
        words = "" if input_policy == own_policy else f", {input_policy.words(session.plan.task.kind)}"
        name = f"{REFERENCE_BACKEND}{words}"
        reference = _reference(session, name, unpatched, input_policy)
        yield Row(name, REFERENCE_BACKEND, "fp32", None, reference.figures, reference.seconds, reference.resumed)
        bootstrap = None
        for candidate in compared:
            if candidate.input_policy != input_policy:
                continue
            judged = _candidate(session, candidate)
            if metric is not None and is_first():
                session.tell(f"{candidate.name}: the interval of the difference")
                bootstrap = bootstrap or PairedBootstrap(metric, reference.per_image)
            row = Row(
                candidate.name,
                candidate.manifest.backend,
                candidate.manifest.precision["stored"],
                str(candidate.folder),
                judged.figures,
                judged.seconds,
                judged.resumed,
                verdict=NOT_JUDGED,
            )
            yield row if metric is None else judged_row(row, session.plan, metric, judged, reference, bootstrap)


def _reference(session: Session, name: str, unpatched: Unpatched, input_policy: InputPolicy) -> Judged:
    plan = session.plan
    made_from = reference_made_from(plan.config, unpatched.model, unpatched.weights, input_policy, session.device)
    if session.pool is not None:
        subject = ReferenceSubject(
            input_policy, session.batch_size, session.device, unpatched.checkpoint, unpatched.weights
        )
        return session.judged_by(session.pool, name, subject, made_from, session.reference_results)
    with reference_model(
        plan.config, plan.task, unpatched.model, input_policy, batch_size=session.batch_size, device=session.device
    ) as image_model:
        return session.judged(name, image_model, made_from, session.reference_results)


def _candidate(session: Session, candidate: Candidate) -> Judged:
    manifest = candidate.manifest
    made_from = {
        "manifest": manifest.to_dict(),
        "provider": session.provider,
        "versions": versions(manifest.backend),
        "modules": session.plan.config.source_hashes(),
    }
    if session.pool is not None:
        shipped, contents = deployment_contents(candidate.folder)
        _check_same(candidate, shipped)
        subject = session.pool.deployment(candidate.input_policy, candidate.folder, contents, session.provider)
        return session.judged_by(session.pool, candidate.name, subject, made_from)
    with _opened(session, candidate) as deployment:
        _check_same(candidate, deployment.manifest)
        return session.judged(candidate.name, deployment, made_from)


def _opened(session: Session, candidate: Candidate) -> Deployment:
    threads = threads_each(candidate.manifest.threads)
    return load(candidate.folder, provider=session.provider, threads=threads)


def _check_same(candidate: Candidate, manifest: Manifest) -> None:
    if manifest != candidate.manifest:
        raise InputError(
            f"{candidate.folder}: another deployment has taken its place since the evaluation began; evaluate again"
        )
