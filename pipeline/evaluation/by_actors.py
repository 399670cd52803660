"""One model over the data set by a cluster: actors compute results and the metric's entries, the driver the figures."""

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.scale.cluster import Actors, ClusterRequest, cluster, fitting_actors
from backends.scale.object_store import fetched, stored
from backends.scale.pool import computed
from backends.scale.refusal import raise_refusal
from backends.scale.shipped import ShippedDeployment
from pipeline.evaluation.actor import BlockEvaluator, DeploymentSubject, EvaluationJob, Subject
from pipeline.evaluation.evaluated_model import stored_result
from pipeline.evaluation.input_policy import InputPolicy
from pipeline.evaluation.plan import Plan
from pipeline.evaluation.result_store import ResultStore, StoredResult
from pipeline.evaluation.run_dataset import Judged
from zoo.errors import InputError
from zoo.metrics import Metric

BLOCK = 32  # images: enough that Ray's own work does not count, few enough that a lost actor repeats little
BLOCKS_EACH = 4  # of an actor, at least, so that all of them end at about the same time


@dataclass(frozen=True)
class ActorPool:
    """`ray`: the library, connected to a cluster. `actors`: what has room there."""

    ray: Any
    actors: Actors

    @classmethod
    @contextmanager
    def opened(cls, request: ClusterRequest) -> Iterator["ActorPool"]:
        """Connected, or started. Raises InputError for more actors than have room, and as `cluster` does."""
        with cluster(request.address) as ray:
            yield cls(ray, fitting_actors(ray.nodes(), request.workers, request.gpus))

    def deployment(
        self, input_policy: InputPolicy, folder: Path, contents: dict[str, bytes], provider: str | None
    ) -> DeploymentSubject:
        """A deployment that travels to the actors. `contents`: see deployment_contents."""
        return DeploymentSubject(input_policy, ShippedDeployment(str(folder), stored(self.ray, contents), provider))

    def judge(
        self,
        subject: Subject,
        plan: Plan,
        store_file: Path,
        earlier: frozenset[int],
        *,
        batch_size: int,
        done: Callable[[int], None],
    ) -> Judged:
        """As run_dataset.judge on one thread, to the bit: actors compute entries, put here into the data set's order.

        `done` is called with the number of images that are finished. Raises what an actor refuses.
        """
        metric = plan.metric()
        entries: list[Any] = [None] * len(plan.dataset)
        with ResultStore(store_file) as store:
            reused = _reuse(plan, subject.input_policy.rule, metric, store, earlier, entries)
            left = [number for number in range(len(plan.dataset)) if number not in reused]
            count = len(reused)
            done(count)
            for rows, values in self._blocks(subject, plan, left, batch_size):
                store.add(rows)
                for row, value in zip(rows, values, strict=metric is not None):
                    entries[row.number] = value
                count += len(rows)
                done(count)
            seconds = store.seconds(range(len(plan.dataset)))
        if metric is None:
            return Judged({}, [], seconds, len(reused))
        metric.results = entries
        figures: dict[str, float] = metric.evaluate(len(entries))
        return Judged(figures, metric.per_image, seconds, len(reused))

    def _blocks(
        self, subject: Subject, plan: Plan, numbers: Sequence[int], batch_size: int
    ) -> Iterator[tuple[list[StoredResult], list[Any]]]:
        """Of each block, in no order: its rows of the store, and the metric's entries."""
        if not numbers:
            return
        job = EvaluationJob(
            subject,
            stored(self.ray, _pickled(plan)),
            str(Path.cwd()),
            batch_size,
            plan.config.path if plan.config.custom_modules() else None,
        )
        size = _block_size(len(numbers), self.actors.size, batch_size)
        blocks = (numbers[first : first + size] for first in range(0, len(numbers), size))
        rows = ({"name": _block_name(block), "numbers": json.dumps(block)} for block in blocks)
        for row in computed(self.ray, BlockEvaluator, (job, fetched), rows, self.actors):
            raise_refusal(row["refused"])
            yield pickle.loads(row["content"])  # noqa: S301 - written by an actor of this driver


def _block_size(images: int, actors: int, batch_size: int) -> int:
    """A multiple of the batch, so that batches are those of one process."""
    size = min(BLOCK, -(-images // (BLOCKS_EACH * actors)))
    return -(-size // batch_size) * batch_size


def _block_name(numbers: Sequence[int]) -> str:
    """For messages."""
    return f"images {numbers[0]} to {numbers[-1]} of the data set, from 0"


def _pickled(plan: Plan) -> bytes:
    try:
        return pickle.dumps(plan)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InputError(
            f"data set {plan.section['type']} cannot be sent to another process ({error}); evaluate without Ray"
        ) from error


def _reuse(
    plan: Plan, rule: Any, metric: Metric | None, store: ResultStore, earlier: frozenset[int], entries: list[Any]
) -> frozenset[int]:
    """The images whose results an earlier run has left, and which have not changed; their entries are put in place."""
    reused = set()
    for number in sorted(earlier & set(range(len(plan.dataset)))):
        item = plan.dataset[number]
        result = stored_result(store, item, plan.task, rule)
        if result is None:
            continue
        if metric is not None:
            metric.process([item], [result])
            entries[number] = metric.results.pop()
        reused.add(number)
    return frozenset(reused)
