"""What one of Ray's actors does for an evaluation: numbers of images in, their results and the metric's entries out."""

import contextlib
import json
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from backends.model import Model
from backends.scale.object_store import Fetch
from backends.scale.refusal import Refusal
from backends.scale.shipped import THREADS, ShippedDeployment
from pipeline.base.device import check_torch_device
from pipeline.base.weights import weights_sha256
from pipeline.evaluation.evaluated_model import EvaluatedModel
from pipeline.evaluation.input_policy import InputPolicy
from pipeline.evaluation.plan import Plan
from pipeline.evaluation.reference import reference_model
from pipeline.evaluation.result_store import Kind, StoredResult
from zoo.build import build_model
from zoo.config import load_config
from zoo.errors import InputError, ZooportError
from zoo.tasks import Result


class Subject(Protocol):
    """What is evaluated; each actor opens it."""

    @property
    def input_policy(self) -> InputPolicy:
        """How it is given its images."""

    def opened(self, plan: Plan, fetch: Fetch) -> Model:
        """The model on one thread. Raises as a load does."""


@dataclass(frozen=True)
class ReferenceSubject:
    """The unpatched model, built by each actor. `weights`: the sha256 that it must have, as the driver has built it."""

    input_policy: InputPolicy
    batch_size: int
    device: str
    checkpoint: str | Path | None
    weights: str

    def opened(self, plan: Plan, fetch: Fetch) -> Model:  # noqa: ARG002 - nothing of it is shipped
        """See Subject."""
        check_torch_device(self.device)
        model = build_model(plan.config, self.checkpoint)
        if weights_sha256(model) != self.weights:
            raise InputError(
                f"{self.checkpoint or plan.config.weights}: has other weights on a machine of the cluster than on that "
                "of the command; give all machines the same files"
            )
        return reference_model(
            plan.config,
            plan.task,
            model,
            self.input_policy,
            batch_size=self.batch_size,
            device=self.device,
            threads=THREADS,
        )


@dataclass(frozen=True)
class DeploymentSubject:
    """A deployment, whose files travel to the actors."""

    input_policy: InputPolicy
    deployment: ShippedDeployment

    def opened(self, plan: Plan, fetch: Fetch) -> Model:  # noqa: ARG002 - its manifest says all
        """See Subject."""
        return self.deployment.opened(fetch(self.deployment.contents))


@dataclass(frozen=True)
class EvaluationJob:
    """`plan`: shipped, a pickled Plan. `folder`: to which relative paths in it are relative.

    `modules_of`: a config whose modules have to be imported before the plan can be read; None if it has none.
    """

    subject: Subject
    plan: Any
    folder: str
    batch_size: int
    modules_of: Path | None = None


class BlockEvaluator:
    """Opens the subject once, and evaluates blocks of images with it."""

    def __init__(self, job: EvaluationJob, fetch: Fetch) -> None:
        self._job = job
        self._refusal: Refusal | None = None
        with contextlib.suppress(OSError):  # a machine without this folder may still have all that absolute paths name
            os.chdir(job.folder)
        try:
            if job.modules_of is not None:
                load_config(job.modules_of)
            self._plan: Plan = pickle.loads(fetch(job.plan))  # noqa: S301 - written by the driver of this actor
            self._model = job.subject.opened(self._plan, fetch)
        except (ZooportError, OSError) as error:
            self._refusal = Refusal(error)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        """`batch`: `numbers`, JSON lists. A row for each: `refused`, JSON, and `content`, pickled, see `_block`."""
        blocks = [self._answer(json.loads(numbers)) for numbers in batch["numbers"]]
        return {name: [block[name] for block in blocks] for name in blocks[0]}

    def _answer(self, numbers: list[int]) -> dict[str, Any]:
        refusal = self._refusal
        content: tuple[list[StoredResult], list[Any]] = ([], [])
        if refusal is None:
            try:
                content = self._block(numbers)
            except (ZooportError, OSError) as error:
                refusal = Refusal(error)
        return {"refused": "" if refusal is None else refusal.to_json(), "content": pickle.dumps(content)}

    def _block(self, numbers: Sequence[int]) -> tuple[list[StoredResult], list[Any]]:
        """The result of each image, and the metric's entry for it; no entries without a metric."""
        results = _NewResults()
        model = EvaluatedModel(self._model, results, frozenset())
        metric = self._plan.metric()
        for first in range(0, len(numbers), self._job.batch_size):
            items = [self._plan.dataset[number] for number in numbers[first : first + self._job.batch_size]]
            found = model.test_step(items)
            if metric is not None:
                metric.process(items, found)
        return results.rows, [] if metric is None else metric.results


class _NewResults:
    """Keeps them for the driver, which has the store."""

    def __init__(self) -> None:
        self.rows: list[StoredResult] = []

    def get(self, number: int, image: str, kind: type[Kind]) -> Kind | None:  # noqa: ARG002
        """The driver asks only for what it does not have."""
        return None

    def put(self, number: int, image: str, seconds: float, result: Result) -> None:
        """Keep one."""
        self.rows.append(StoredResult.of(number, image, seconds, result))
