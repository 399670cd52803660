"""What all models of one evaluation share: the plan, and how it is run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.hooks import Hook

from backends.model import Model
from pipeline.base.steps import BeginStep
from pipeline.evaluation.actor import Subject
from pipeline.evaluation.by_actors import ActorPool
from pipeline.evaluation.hooks import DrawingHook, ProgressHook
from pipeline.evaluation.plan import Plan
from pipeline.evaluation.processes import by_the_first, is_first
from pipeline.evaluation.result_store import ResultStore, as_file_name
from pipeline.evaluation.run_dataset import Judged, judge
from pipeline.publishing.writable import writable
from zoo.errors import InputError
from zoo.progress import Progress


@dataclass(frozen=True)
class Session:
    """``device``: where PyTorch runs; ``provider``: where deployments do, None for what their manifests say.

    ``resume``: take up what an earlier run has left. ``show_dir``: for drawn results, a folder for each model.
    ``pool``: the actors of a cluster, which then run the models; None for this process.
    ``reference_results``: the folder where the unpatched model's results are found and kept for other sessions, too.
    """

    plan: Plan
    device: str
    provider: str | None
    batch_size: int
    resume: bool
    show_dir: Path | None
    launcher: str
    progress: Progress | None
    steps: BeginStep | None
    pool: ActorPool | None = None
    reference_results: Path | None = None

    def tell(self, step: str) -> None:
        """What begins now, for those who watch; of several processes the first one tells."""
        if self.steps is not None and is_first():
            self.steps(step)

    def judged(self, name: str, model: Model, made_from: Mapping[str, Any], shared: Path | None = None) -> Judged:
        """The model on all images. ``made_from``: what its results depend on, beside the images.

        ``shared``: a folder of results that all sessions find; None for the session's own.
        """
        hooks: list[Hook] = []
        if self.progress is not None and is_first():
            hooks.append(ProgressHook(self.progress, self.tell, name, len(self.plan.dataset)))
        if self.show_dir is not None:
            hooks.append(DrawingHook(_made(self.show_dir / as_file_name(name)), self.plan.task))
        with self._store(name, made_from, shared) as (store, earlier):
            return judge(
                model,
                self.plan.dataset,
                self.plan.metric(),
                store,
                earlier,
                batch_size=self.batch_size,
                hooks=hooks,
                launcher=self.launcher,
                collect_dir=self.plan.place / f"{as_file_name(name)}-collected",
            )

    def judged_by(
        self, pool: ActorPool, name: str, subject: Subject, made_from: Mapping[str, Any], shared: Path | None = None
    ) -> Judged:
        """The same by actors, each of which opens the subject."""
        images = len(self.plan.dataset)

        def done(count: int) -> None:
            if self.progress is not None:
                self.progress(name, count, images)
            if count == images:
                self.tell(f"{name}: the metric")

        with self._store(name, made_from, shared) as (store, earlier):
            return pool.judge(subject, self.plan, store, earlier, batch_size=self.batch_size, done=done)

    @contextmanager
    def _store(
        self, name: str, made_from: Mapping[str, Any], shared: Path | None
    ) -> Iterator[tuple[Path, frozenset[int]]]:
        """The file for the results of a model, and the images that have one in it. It is written into meanwhile."""
        made_from = {**made_from, "dataset": str(dict(self.plan.section))}
        if shared is None:
            file = self.plan.place / f"{as_file_name(name)}.sqlite"
            yield file, by_the_first(lambda: ResultStore.prepare(file, made_from, resume=self.resume))
        else:
            with writable(shared, "--reference-results"):
                yield by_the_first(lambda: ResultStore.prepare_shared(shared, made_from))


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--show-dir {folder}: cannot be made ({error.strerror}); give another one") from error
    return folder
