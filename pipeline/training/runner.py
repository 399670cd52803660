"""Training through mmengine's Runner."""

import itertools
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmengine.hooks import EarlyStoppingHook, Hook
from mmengine.logging import MMLogger
from mmengine.runner import Runner
from torch import nn

from pipeline.base.steps import BeginStep
from pipeline.publishing.lock import locked
from pipeline.training.best_weights import BestWeights
from pipeline.training.curves import validated
from pipeline.training.faults import faults_of_recipe
from pipeline.training.opencv_threads import one_opencv_thread
from pipeline.training.optimization import optimization, schedule
from pipeline.training.own_data import own_dataset
from pipeline.training.recipe import Recipe
from pipeline.training.reporting import ReportProgress
from pipeline.training.starting_model import backbone_sha256, starting_model
from pipeline.training.trainable import Trainable
from pipeline.training.training_data import training_data
from pipeline.training.training_run import LAST, RUN_KEY
from pipeline.training.validation import Validation, remove_leftovers
from pipeline.training.whole_files import BACKEND_ARGS
from zoo.build import build_model
from zoo.cards import TrainingRun
from zoo.config import ModelConfig
from zoo.families import first_step
from zoo.progress import Progress
from zoo.recipe_data import check_recipe_data

CHECKPOINTS_KEPT = 3
TRAININGS = itertools.count(1)  # of this process; mmengine names a run by its second, which two may share
LOG_INTERVAL = 10  # iterations; also mmengine's window of the mean, so that each counts once
MIN_DELTA = 0.01  # points or dB: less is no better figure, for the patience of a training


class RunInCheckpoint(Hook):  # type: ignore[misc]  # mmengine is untyped
    """Writes what is known of the run into its checkpoints.

    Leaves mmengine's log history out, pickled Python objects: mmengine itself can only resume from checkpoints without.
    """

    priority = "VERY_LOW"

    def __init__(self, run: TrainingRun) -> None:
        self.before, self.begin = run, time.perf_counter()

    def so_far(self, iterations: int) -> TrainingRun:
        """The run, now that it has done as many iterations."""
        minutes = self.before.minutes + (time.perf_counter() - self.begin) / 60
        return replace(self.before, iterations=iterations, minutes=minutes)

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict[str, Any]) -> None:  # noqa: ARG002 - mmengine's
        """Changes the checkpoint in place."""
        checkpoint["message_hub"] = {"log_scalars": {}, "runtime_info": {}, "resumed_keys": {}}
        checkpoint["meta"][RUN_KEY] = self.so_far(checkpoint["meta"]["iter"]).to_dict()


class MissedValidation(Hook):  # type: ignore[misc]  # mmengine is untyped
    """Makes up for a validation that a stop cut off: mmengine saves a checkpoint before it, and resumes after it.

    `began`: when the run began, as its record has it.
    """

    def __init__(self, interval: int | None, began: str | None) -> None:
        self.interval, self.began = interval, began

    def before_train(self, runner: Runner) -> None:
        """Validates what a checkpoint has that a run goes on from, where no log has figures of it."""
        done = runner.iter
        due = done and (done == runner.max_iters or (self.interval is not None and done % self.interval == 0))
        if due and done not in validated(Path(runner.work_dir), self.began):
            runner.val_loop.run()


class TrainingRunner(Runner):  # type: ignore[misc]  # mmengine is untyped
    """mmengine's Runner, whose log goes to its file alone: the terminal has one line of progress."""

    def build_logger(self, *arguments: Any, **options: Any) -> MMLogger:
        """The logger without its terminal."""
        logger = super().build_logger(*arguments, **options)
        for handler in list(logger.handlers):
            if not isinstance(handler, logging.FileHandler):
                logger.removeHandler(handler)
        return logger


@one_opencv_thread()
def train(
    config: ModelConfig,
    recipe: Recipe,
    work_dir: Path,
    run: TrainingRun,
    *,
    resume: Path | None = None,
    note: BeginStep | None = None,
    progress: Progress | None = None,
) -> tuple[nn.Module, TrainingRun]:
    """Trains the config's model and returns it, on the CPU, with the finished run; logs and checkpoints: `work_dir`.

    With data of one's own it is the model with the best figure of a validation. `resume`: the checkpoint to go on from;
    `run` is then what that file tells of itself. `note` is called with lines that stay, `progress` with what is done,
    and how many of how many iterations.
    Training runs on the device that mmengine finds (a GPU where there is one). Raises InputError where the data cannot
    be learned, the model or its weights cannot be had, there is no mixed precision on the device, or another training
    writes into `work_dir`.
    """
    check_recipe_data(config)
    work_dir.mkdir(parents=True, exist_ok=True)
    with locked(work_dir):
        remove_leftovers(work_dir)
        if resume is None:
            run = replace(run, backbone_sha256=backbone_sha256(config, recipe))
        record = RunInCheckpoint(run)
        validation = None if config.train_dataset is None else Validation(config)
        best = None if validation is None else BestWeights(validation.metric.main_key, work_dir, record.so_far)
        runner = build_runner(
            config,
            recipe,
            work_dir,
            record,
            resume=resume,
            validation=validation,
            hooks=_hooks(recipe, best, progress, run.began),
            note=note,
            progress=progress,
        )
        if resume is None:
            (work_dir / LAST).unlink(missing_ok=True)  # of an earlier run, which --resume must not take from here on
        with faults_of_recipe(recipe.batch_size):
            runner.train()
        model = runner.model.model.cpu()
        if best is not None:
            best.load_into(model)
            if note is not None:
                note(best.summary(runner.iter, recipe.iterations))
        return model, record.so_far(runner.iter)


def _hooks(recipe: Recipe, best: BestWeights | None, progress: Progress | None, began: str | None) -> list[Hook]:
    """What happens at a validation, and what is shown."""
    hooks: list[Hook] = []
    if best is not None:
        hooks += [best, MissedValidation(recipe.val_interval, began)]
        if recipe.patience is not None:
            stop = EarlyStoppingHook(best.metric, rule="greater", min_delta=MIN_DELTA, patience=recipe.patience)
            stop.best_score = stop.best_score if best.best is None else best.best.figure
            hooks.append(stop)
    if progress is not None:
        hooks.append(ReportProgress(progress, best))
    return hooks


def build_runner(
    config: ModelConfig,
    recipe: Recipe,
    work_dir: Path,
    record: RunInCheckpoint,
    *,
    resume: Path | None = None,
    validation: Validation | None = None,
    hooks: Sequence[Hook] = (),
    note: BeginStep | None = None,
    progress: Progress | None = None,
) -> Runner:
    """The Runner of a training, with the model to start from; pre-training, where there is any, is done in here."""
    optimizing = optimization(recipe, amp=record.before.amp)
    dataset = None if config.train_dataset is None else own_dataset(config, None if resume else progress)
    begins = resume is None
    model = starting_model(config, recipe, note, progress) if begins else build_model(config, weights=False)
    return TrainingRunner(
        model=Trainable(model, first_step(model, config.task, config.preprocess)),
        work_dir=str(work_dir),
        train_dataloader=training_data(config, recipe, model, dataset, first=record.before.iterations),
        **_loops(recipe, validation),
        optim_wrapper=optimizing,
        param_scheduler=schedule(recipe),
        default_hooks=_default_hooks(recipe),
        custom_hooks=[record, *hooks],
        log_processor={"by_epoch": False, "window_size": LOG_INTERVAL},
        randomness={"seed": recipe.seed},
        load_from=None if resume is None else str(resume),
        resume=resume is not None,
        default_scope="zoo",
        experiment_name=f"{config.name}-{next(TRAININGS)}",
    )


def _loops(recipe: Recipe, validation: Validation | None) -> dict[str, Any]:
    """The training's loop and, where it is validated, that of a validation."""
    loop = {"type": "IterBasedTrainLoop", "max_iters": recipe.iterations}
    if validation is None:
        return {"train_cfg": loop}
    return {"train_cfg": {**loop, "val_interval": recipe.val_interval}, **validation.runner_options()}


def _default_hooks(recipe: Recipe) -> dict[str, Any]:
    """mmengine's: its log, and checkpoints to go on from."""
    return {
        "logger": {"type": "LoggerHook", "interval": LOG_INTERVAL, "log_metric_by_epoch": False},
        "checkpoint": {
            "type": "CheckpointHook",
            "by_epoch": False,
            "interval": max(1, recipe.iterations // 10),
            "max_keep_ckpts": CHECKPOINTS_KEPT,
            "backend_args": BACKEND_ARGS,
        },
    }
