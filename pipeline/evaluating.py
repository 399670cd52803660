"""Evaluating: the same data, the same rule of resizing, the same post-processing and metric for every backend."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from backends.scale.cluster import ClusterRequest
from pipeline.base.device import reference_device
from pipeline.base.steps import BeginStep
from pipeline.base.weights import weights_sha256
from pipeline.candidates.candidate import candidates, deployed
from pipeline.candidates.judged_rows import Unpatched, judged_rows
from pipeline.evaluation.arguments import check_arguments, check_backends, requested_backends
from pipeline.evaluation.by_actors import ActorPool
from pipeline.evaluation.plan import Plan, bound_plan, make_gate_split, plan_evaluation
from pipeline.evaluation.processes import by_the_first, processes
from pipeline.evaluation.records import Evaluation, Row
from pipeline.evaluation.session import Session
from pipeline.job.deploy_target import deploy_target
from pipeline.publishing.lock import locked
from pipeline.publishing.writable import writable
from zoo.build import build_model
from zoo.config import ConfigSource, ModelConfig, load_config
from zoo.progress import Progress
from zoo.target import REFERENCE_BACKEND, Target


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
    reference_results: str | Path | None = None,
    gate_split: bool = False,
    show_dir: str | Path | None = None,
    launcher: str = "none",
    cluster: ClusterRequest | None = None,
    progress: Progress | None = None,
    steps: BeginStep | None = None,
) -> Evaluation:
    """The metric of the unpatched model and of each deployment, on the config's data set.

    ``backends``: the deployments for these backends under ``work_dir``; missing ones are made first. Without
    ``backends`` and ``deployments``, PyTorch and the default backend run. The unpatched model always runs, because the
    others are compared with it. ``limit``: only the first images. ``resume``: reuse the results of an earlier run.
    ``reference_results``: a folder where PyTorch's results are found and kept, for other evaluations and for deploys.
    ``gate_split``: the config's ``gate_dataset``. ``launcher``: "pytorch" under torchrun; the first process then has
    the whole outcome. ``device``: where all of them run; PyTorch uses the CPU if it does not have that device. If it is
    None, PyTorch runs on the CPU and each deployment where its manifest says. ``cluster``: run the models in actors of
    Ray, each on one thread; their machines must find the data set, the checkpoint and the config's own modules at the
    same places. ``progress`` is called with (name, images done, images in all), ``steps`` with each other step: those
    of a deploy, the metric. Raises InputError (all faults of the data set together, before the first image), and the
    errors of a deploy.
    """
    backends = requested_backends(backends, deployments)
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
    check_backends(backends, deployments, device)
    with ExitStack() as held:
        device_of_reference, provider = _devices(held, device, launcher, by_actors=cluster is not None)
        gate_split = gate_split or _is_judged_on_more(config, precision)
        plan = _plan(config, work_dir, limit, progress, gate_split=gate_split)
        pool = None if cluster is None else held.enter_context(ActorPool.opened(cluster))
        model = build_model(config, checkpoint)
        plan = bound_plan(plan, model)
        config = plan.config
        weights = weights_sha256(model)
        targets = _targets(config, backends, precision, provider)
        makes = (partial(deployed, config, target, weights, checkpoint, work_dir, steps) for target in targets)
        compared = candidates(config, [*map(Path, deployments), *map(by_the_first, makes)], weights)
        held.enter_context(writable(plan.place))
        by_the_first(partial(_hold, plan.place, held))
        session = Session(
            plan=plan,
            device=device_of_reference,
            provider=provider,
            batch_size=batch_size,
            resume=resume,
            show_dir=None if show_dir is None else Path(show_dir),
            launcher=launcher,
            progress=progress,
            steps=steps,
            pool=pool,
            reference_results=None if reference_results is None else Path(reference_results),
        )
        return _evaluation(plan, tuple(judged_rows(session, Unpatched(model, weights, checkpoint), compared)))


def _devices(held: ExitStack, device: str | None, launcher: str, *, by_actors: bool) -> tuple[str, str | None]:
    """Where PyTorch runs, and where the deployments do. The other processes of the launcher are joined in `held`."""
    of_reference = reference_device(device or "cpu")
    joined = held.enter_context(processes(launcher, "cpu" if by_actors else of_reference))
    if not by_actors:  # actors check the devices of their own machines
        of_reference = joined
    return of_reference, device if of_reference == "cpu" else of_reference


def _is_judged_on_more(config: ModelConfig, precision: str | None) -> bool:
    """Whether the gate split decides: lower precision is judged on more images, where the config has them."""
    return precision not in (None, "fp32") and config.gate_dataset is not None


def _plan(
    config: ModelConfig, work_dir: str | Path, limit: int | None, progress: Progress | None, *, gate_split: bool
) -> Plan:
    if gate_split:
        by_the_first(partial(make_gate_split, config, progress))
    return plan_evaluation(config, work_dir, limit=limit, gate_split=gate_split)


def _targets(
    config: ModelConfig, backends: Sequence[str], precision: str | None, provider: str | None
) -> Iterator[Target]:
    """Of the deployments that the backends need; the reference needs none."""
    for backend in dict.fromkeys(backends):
        if backend != REFERENCE_BACKEND:
            yield deploy_target(config, backend=backend, precision=precision, device=provider)


def _evaluation(plan: Plan, rows: tuple[Row, ...]) -> Evaluation:
    metric = plan.metric()
    return Evaluation(
        config=str(plan.config.path),
        dataset=plan.section["type"],
        kind=plan.task.kind,
        images=len(plan.dataset),
        metric=None if metric is None else metric.main_key,
        unit=None if metric is None else metric.unit,
        rows=rows,
    )


def _hold(place: Path, held: ExitStack) -> None:
    """Make the folder of the results, and keep others out of it."""
    place.mkdir(parents=True, exist_ok=True)
    held.enter_context(locked(place))
