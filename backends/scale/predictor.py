"""What one actor does: a block of inputs in, a file of results out, and a few numbers for the driver."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from backends.deployment import Deployment
from backends.scale.inputs import Inputs
from backends.scale.object_store import Fetch
from backends.scale.part import Part
from backends.scale.reading import read_inputs
from backends.scale.refusal import Refusal
from backends.scale.run_folder import part_name
from backends.scale.shipped import ShippedDeployment
from backends.scale.storage import Storage
from zoo.errors import InputError, ZooportError


@dataclass(frozen=True)
class PredictionJob:
    """What each block is computed with. `out`: the folder of the results; `score`, `classes`: what is kept of them.

    `uris`: those of the sources, see `inputs.reached`.
    """

    deployment: ShippedDeployment
    out: str = field(repr=False)  # may hold a password, as the URIs may
    inputs: Mapping[str, float] = field(default_factory=dict)
    score: float | None = None
    classes: tuple[str, ...] = ()
    uris: Mapping[str, str] = field(default_factory=dict, repr=False)


class BlockPredictor:
    """Loads the deployment once, and computes blocks with it."""

    def __init__(self, job: PredictionJob, fetch: Fetch) -> None:
        self.job = job
        self._refusal: Refusal | None = None
        self._model: Deployment | None = None
        try:
            self._model = job.deployment.opened(fetch(job.deployment.contents))
            self._storage = Storage(job.out)
            self._part = Part(self._model.task)
        except (ZooportError, OSError) as error:
            self._refusal = Refusal(error)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        """`batch`: rows of `block_row`. A row for each block: `block`, `images`, `faults`, JSON lists of lines."""
        done = [self._done(int(block), text) for block, text in zip(batch["block"], batch["inputs"], strict=True)]
        return {name: [row[name] for row in done] for name in done[0]}

    def _done(self, block: int, text: str) -> dict[str, Any]:
        faults: list[str] = []
        images, refusal = 0, self._refusal
        if refusal is None:
            try:
                images = self._write(block, [Inputs(*each) for each in json.loads(text)], faults)
            except ZooportError as error:
                refusal = Refusal(error)
            except OSError as error:  # of writing: what cannot be read is a fault of its rows
                reason = " ".join(str(error).split())
                cure = "make room, or correct the rights"
                refusal = Refusal(InputError(f"--out {self._storage.location}: cannot be written ({reason}); {cure}"))
        refused = "" if refusal is None else refusal.to_json()
        return {"block": block, "images": images, "faults": json.dumps(faults), "refused": refused}

    def _write(self, block: int, inputs: list[Inputs], faults: list[str]) -> int:
        """How many images there were."""
        assert self._model is not None
        rows = self._rows(inputs, faults)
        count = 0

        def counted() -> Iterator[dict[str, Any]]:
            nonlocal count
            for row in rows:
                count += 1
                yield row

        self._part.write(self._storage, part_name(block), counted())
        return count

    def _rows(self, inputs: list[Inputs], faults: list[str]) -> Iterator[dict[str, Any]]:
        assert self._model is not None
        job = self.job
        stream = self._model.predictions(read_inputs(inputs, self._model.task.kind, job.uris), job.inputs)
        for prediction in stream:
            result = prediction.computed
            if prediction.fault is not None:
                faults.append(prediction.fault)
            elif result is not None and (job.score is not None or job.classes):
                result = result.filter(score=job.score, classes=job.classes or None)
            yield self._part.row(prediction, result)
