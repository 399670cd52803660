"""Validation while a model learns: by the evaluation that judges deployments."""

import logging
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from mmengine.device import get_device
from mmengine.evaluator import Evaluator
from mmengine.runner import BaseLoop, Runner
from torch import nn
from torch.utils.data import DataLoader

from pipeline.evaluation.input_policy import default_policy
from pipeline.evaluation.plan import bound_plan, plan_evaluation
from pipeline.evaluation.reference import reference_model
from pipeline.evaluation.result_store import ResultStore
from pipeline.evaluation.run_dataset import judge
from pipeline.publishing.writable import writable
from zoo.config import ModelConfig
from zoo.errors import InputError
from zoo.metrics import Metric

PREFIX = ".validation-"


class Validation:
    """The config's ``dataset``, checked, and the figures of a model on it. Raises InputError as an evaluation does."""

    def __init__(self, config: ModelConfig) -> None:
        self.plan = plan_evaluation(config, "", limit=None, gate_split=False)
        dataset, keys = self.plan.dataset.dataset, self.plan.task.truth
        if not any(_has_truth(dataset.truth(index), keys) for index in range(len(self.plan.dataset))):
            inputs = self.plan.task.kind.plural
            raise InputError(
                f"config {config.path}: dataset {self.plan.section['type']} has no objects in "
                f"{len(self.plan.dataset)} {inputs}, so that there is nothing to validate on; give it {inputs} with "
                "objects"
            )

    @property
    def metric(self) -> Metric:
        """A new metric."""
        metric = self.plan.metric()
        assert metric is not None  # check_recipe_data
        return metric

    def figures(self, model: nn.Module, folder: Path) -> Mapping[str, float]:
        """All figures of the metric, by name. The model is in eval mode then; what is random goes on unchanged.

        The results are in a file in `folder` meanwhile. Raises InputError where there is no room for it.
        """
        plan = bound_plan(self.plan, model)
        policy = default_policy(plan.config)
        with (
            writable(folder),
            TemporaryDirectory(dir=folder, prefix=PREFIX) as kept,
            _kept_randomness(),
            _without_log(),
        ):
            store = Path(kept) / "results.sqlite"
            earlier = ResultStore.prepare(store, {}, resume=False)
            reference = reference_model(plan.config, plan.task, model, policy, batch_size=1, device=get_device())
            with reference as image_model:
                judged = judge(
                    image_model,
                    plan.dataset,
                    self.metric,
                    store,
                    earlier,
                    batch_size=1,
                    hooks=(),
                    launcher="none",
                    collect_dir=Path(kept) / "collected",
                )
        return judged.figures

    def runner_options(self) -> dict[str, Any]:
        """The validation of a Runner."""
        return {
            "val_dataloader": DataLoader(self.plan.dataset, collate_fn=list),
            "val_evaluator": Evaluator([self.metric]),
            "val_cfg": {"type": lambda runner, dataloader, **_: ValidationLoop(runner, dataloader, self)},
        }


def remove_leftovers(folder: Path) -> None:
    """Results of validations that were killed. The folder's lock must be held."""
    for leftover in folder.glob(f"{PREFIX}*"):
        shutil.rmtree(leftover, ignore_errors=True)


class ValidationLoop(BaseLoop):  # type: ignore[misc]  # mmengine is untyped
    """One validation of the model that a Runner trains; hooks are given the figures."""

    def __init__(self, runner: Runner, dataloader: DataLoader[Any], validation: Validation) -> None:
        super().__init__(runner, dataloader)
        self.validation = validation

    def run(self) -> Mapping[str, float]:
        """Validates."""
        self.runner.call_hook("before_val")
        figures = self.validation.figures(self.runner.model.model, Path(self.runner.work_dir))
        self.runner.call_hook("after_val_epoch", metrics=figures)
        self.runner.call_hook("after_val")
        return figures


def _has_truth(truth: Mapping[str, Any], keys: Sequence[str]) -> bool:
    """Whether there is anything to judge in one image: all keys of the task, and an object that counts."""
    crowds = truth.get("iscrowd", truth.get("difficult"))
    if "labels" in truth and (not len(truth["labels"]) or (crowds is not None and np.all(crowds))):
        return False
    return all(key in truth for key in keys)


@contextmanager
def _without_log() -> Iterator[None]:
    """The Runner of a validation logs its environment each time."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _kept_randomness() -> Iterator[None]:
    """What is random goes on afterwards as if nothing had been drawn: a Runner seeds the whole process."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002 - mmengine seeds the old one
    with torch.random.fork_rng():
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002 - as above
