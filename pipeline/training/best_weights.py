"""The best weights of a training so far, by its validations."""

import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import nn

from pipeline.training.training_run import RUN_KEY
from zoo.cards import TrainingRun
from zoo.errors import InputError
from zoo.files.writing import write_whole
from zoo.torch_file import read_torch_file

NAME = "best.pth"


class Best(NamedTuple):
    """The figure of the best weights, and after how many iterations the model had them."""

    figure: float
    iteration: int


class BestWeights(Hook):  # type: ignore[misc]  # mmengine is untyped
    """Keeps the weights with the highest `metric` in the work dir, whole at every moment.

    `so_far`: what is known of the run after a number of iterations. A training that goes on keeps what it had before,
    one that begins anew does not.
    """

    priority = "NORMAL"  # before the log, which says that a validation is done, and before the one that stops early

    def __init__(self, metric: str, work_dir: Path, so_far: Callable[[int], TrainingRun]) -> None:
        self.metric, self.file, self.so_far = metric, work_dir / NAME, so_far
        self.best = self._earlier()
        self.last: float | None = None
        self.validations_without = 0

    def _earlier(self) -> Best | None:
        """What an interrupted start of the same training has left."""
        try:
            meta = read_torch_file(self.file)["meta"]
            run = self.so_far(0)
            same = TrainingRun(**meta[RUN_KEY]).is_of(run)
            return Best(*meta["best"]) if same and run.resumed else None
        except (InputError, KeyError, TypeError):
            return None

    def after_val_epoch(self, runner: Runner, metrics: Mapping[str, float] | None = None) -> None:
        """Writes the weights, where no validation before was as good."""
        assert metrics is not None
        self.last = float(metrics[self.metric])
        self.validations_without += 1
        if self.best is None or math.isnan(self.best.figure) or self.last > self.best.figure:
            self.best = Best(self.last, runner.iter)
            self.validations_without = 0
            state = {name: tensor.cpu() for name, tensor in runner.model.model.state_dict().items()}
            meta = {"best": tuple(self.best), RUN_KEY: self.so_far(runner.iter).to_dict()}
            content = io.BytesIO()
            torch.save({"state_dict": state, "meta": meta}, content)
            write_whole(self.file, content.getbuffer())

    def summary(self, done: int, planned: int) -> str:
        """One line on the whole training: `done` of `planned` iterations."""
        assert self.best is not None
        words = f"best {self.metric} {self.best.figure:.2f} at iteration {self.best.iteration} of {done}"
        if done < planned:
            words += f"; stopped before {planned}: no better figure in {self.validations_without} validations"
        return words

    def load_into(self, model: nn.Module) -> None:
        """The best weights, into a model of the kind."""
        state: Mapping[str, Any] = read_torch_file(self.file)["state_dict"]
        model.load_state_dict(state)
