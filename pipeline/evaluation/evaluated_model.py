"""A model of ours as mmengine's test loop calls it."""

import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

from mmengine.model import BaseModel

from backends.model import Model
from pipeline.evaluation.result_store import Kind
from zoo.datasets.evaluation_dataset import INPUTS
from zoo.errors import InputError
from zoo.tasks import Result, Task


class Results(Protocol):
    """Where results are kept; see ResultStore for its verbs."""

    def get(self, number: int, image: str, kind: type[Kind]) -> Kind | None:
        """None if there is none."""

    def put(self, number: int, image: str, seconds: float, result: Result) -> None:
        """Keep one."""


def stored_result(store: Results, item: Mapping[str, Any], task: Task, rule: Any) -> Result | None:
    """The result in the store for an item, as the model gave it; None if there is none. `rule`: the preprocessing."""
    result = store.get(item["number"], item["state"], task.own_result_type)
    return None if result is None else result.of_task(task, task.kind.geometry(rule, item[task.input_kind]))


class EvaluatedModel(BaseModel):  # type: ignore[misc]  # mmengine is untyped
    """Gives the result for each item of a batch: the one in the store, or what the model finds in the image now.

    Items are those of a data set with their place in it under "number" and the state of their file under "state".
    Those with "inputs" say what else the model is given, for example {"scale": 2}.
    ``earlier``: the images that an earlier run has left results for.
    """

    def __init__(self, model: Model, store: Results, earlier: frozenset[int]) -> None:
        super().__init__()
        self.image_model = model
        self.store = store
        self.earlier = earlier
        self.reused: set[int] = set()  # the images of an earlier run whose result was good enough

    def test_step(self, data: Sequence[dict[str, Any]]) -> list[Result]:
        """The results, in the order of the items. Raises InputError that names the image's file."""
        known = [stored_result(self.store, item, self.image_model.task, self.image_model.rule) for item in data]
        left = [item for item, result in zip(data, known, strict=True) if result is None]
        stored = {item["number"] for item in data} - {item["number"] for item in left}
        self.reused |= stored & self.earlier
        begin = time.perf_counter()
        results = self._run(left)
        seconds = (time.perf_counter() - begin) / max(1, len(left))
        for item, result in zip(left, results, strict=True):
            self.store.put(item["number"], item["state"], seconds, result)
        fresh = iter(results)
        return [next(fresh) if result is None else result for result in known]

    def _run(self, items: Sequence[dict[str, Any]]) -> list[Result]:
        try:
            runs = groupby(items, key=lambda item: item.get(INPUTS, {}))
            key = self.image_model.task.input_kind
            return [
                result for inputs, run in runs for result in self.image_model([item[key] for item in run], **inputs)
            ]
        except InputError as error:
            raise InputError(f"{', '.join(item['path'] for item in items)}: {error}") from error

    def forward(self, *_: Any, **__: Any) -> None:
        """Never called: the test loop calls test_step."""
        raise NotImplementedError
