"""Training through mmengine's Runner."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import nn

from pipeline.training.opencv_threads import one_opencv_thread
from pipeline.training.optimization import optimization, schedule
from pipeline.training.recipe import Recipe
from pipeline.training.starting_model import backbone_sha256, starting_model
from pipeline.training.trainable import Trainable
from pipeline.training.training_data import training_data
from pipeline.training.training_run import RUN_KEY
from zoo.build import build_model
from zoo.cards import TrainingRun
from zoo.config import ModelConfig
from zoo.recipe_data import check_recipe_data

CHECKPOINTS_KEPT = 3
LOG_INTERVAL = 10  # iterations; also mmengine's window of the mean, so that each counts once


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


@one_opencv_thread()
def train(
    config: ModelConfig, recipe: Recipe, work_dir: Path, run: TrainingRun, *, resume: Path | None = None
) -> tuple[nn.Module, TrainingRun]:
    """Trains the config's model and returns it, on the CPU, with the finished run; logs and checkpoints: `work_dir`.

    `resume`: the checkpoint to go on from; `run` is then what that file tells of itself.
    Training runs on the device that mmengine finds (a GPU where there is one). Raises InputError where the config is
    for data of one's own, the model or its backbone cannot be had, or there is no mixed precision on the device.
    """
    check_recipe_data(config)
    if resume is None:
        (work_dir / "last_checkpoint").unlink(missing_ok=True)  # of an earlier run, which --resume must not take
        run = replace(run, backbone_sha256=backbone_sha256(config, recipe))
    record = RunInCheckpoint(run)
    runner = build_runner(config, recipe, work_dir, record, resume=resume)
    runner.train()
    return runner.model.model.cpu(), record.so_far(runner.iter)


def build_runner(
    config: ModelConfig,
    recipe: Recipe,
    work_dir: Path,
    record: RunInCheckpoint,
    *,
    resume: Path | None = None,
) -> Runner:
    """The Runner of a training, with the model to start from; pre-training, where there is any, is done in here."""
    optimizing = optimization(recipe, amp=record.before.amp)
    model = starting_model(config, recipe) if resume is None else build_model(config, weights=False)
    return Runner(
        model=Trainable(model),
        work_dir=str(work_dir),
        train_dataloader=training_data(config, recipe, model),
        train_cfg={"type": "IterBasedTrainLoop", "max_iters": recipe.iterations},
        optim_wrapper=optimizing,
        param_scheduler=schedule(recipe),
        default_hooks={
            "logger": {"type": "LoggerHook", "interval": LOG_INTERVAL},
            "checkpoint": {
                "type": "CheckpointHook",
                "by_epoch": False,
                "interval": max(1, recipe.iterations // 10),
                "max_keep_ckpts": CHECKPOINTS_KEPT,
            },
        },
        custom_hooks=[record],
        log_processor={"by_epoch": False, "window_size": LOG_INTERVAL},
        randomness={"seed": recipe.seed},
        load_from=None if resume is None else str(resume),
        resume=resume is not None,
        default_scope="zoo",
        experiment_name=config.name,
    )
