"""Training through mmengine's Runner."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner
from safetensors.torch import load_file
from torch import nn
from torch.utils.data import DataLoader

from zoo.datasets import DigitsTraining
from zoo.datasets.digits_training import collate
from zoo.errors import InputError
from zoo.registry import MODELS
from zoo.training.mixed_precision import optim_wrapper
from zoo.training.pretraining import pretrain
from zoo.training.recipe import Recipe
from zoo.training.trainable import Trainable
from zoo.training.trained import RUN_KEY
from zoo.training.training_run import TrainingRun

BACKBONE_PREFIX = "backbone."
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


def train(
    config: Config, path: Path, recipe: Recipe, work_dir: Path, run: TrainingRun, *, resume: Path | None = None
) -> tuple[nn.Module, TrainingRun]:
    """Trains the config's model and returns it, on the CPU, with the finished run; logs and checkpoints: `work_dir`.

    `path` is the config's own. `resume`: the checkpoint to go on from; `run` is then what that file tells of itself.
    Training runs on the device that mmengine finds (a GPU where there is one). Raises InputError where the backbone's
    file is missing, or there is no mixed precision on the device.
    """
    record = RunInCheckpoint(run)
    wrapper = optim_wrapper(amp=run.amp)
    torch.manual_seed(recipe.seed)
    model = MODELS.build(config.model)
    if recipe.backbone is not None:
        _load_backbone(model, path.parent / recipe.backbone)
    if resume is None:
        (work_dir / "last_checkpoint").unlink(missing_ok=True)  # of an earlier run, which --resume must not take
    if recipe.pretrain is not None and resume is None:
        pretrain(model.get_submodule("backbone"), num_scenes=recipe.num_scenes, seed=recipe.seed, **recipe.pretrain)
    options = {key: getattr(recipe, key) for key in ("size", "crop", "scale", "num_scenes", "seed")}
    dataset = DigitsTraining(recipe.iterations * recipe.batch_size, **options)
    # One worker makes the scenes and their crops while the cores train. Scenes are random: no shuffling needed.
    loader: Any = DataLoader(
        dataset, recipe.batch_size, num_workers=1, collate_fn=collate, worker_init_fn=_one_thread, prefetch_factor=8
    )
    optimizer = {
        "optimizer": {"weight_decay": 0.0, **recipe.optimizer},  # mmengine insists on one
        "clip_grad": {"max_norm": recipe.max_grad_norm},
        "paramwise_cfg": {"norm_decay_mult": 0.0, "bias_decay_mult": 0.0},
    }
    cosine = {"begin": recipe.warmup, "end": recipe.iterations, "T_max": recipe.iterations - recipe.warmup}
    schedule = [
        {"type": "LinearLR", "start_factor": 0.01, "by_epoch": False, "begin": 0, "end": recipe.warmup},
        {"type": "CosineAnnealingLR", "by_epoch": False, **cosine},
    ]
    runner = Runner(
        model=Trainable(model).to(memory_format=torch.channels_last),  # a quarter faster on a CPU
        work_dir=str(work_dir),
        train_dataloader=loader,
        train_cfg={"type": "IterBasedTrainLoop", "max_iters": recipe.iterations},
        optim_wrapper={**wrapper, **optimizer},
        param_scheduler=schedule if recipe.iterations > recipe.warmup else None,
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
        experiment_name=path.stem,
    )
    runner.train()
    return model.cpu(), record.so_far(runner.iter)


def _load_backbone(model: nn.Module, file: Path) -> None:
    """Starts a detector from the backbone of a segmentor: the names `backbone.*` of a safetensors file."""
    if not file.is_file():
        raise InputError(f"train.backbone {file}: no such file; train that model first, or leave train.backbone out")
    state = {
        name.removeprefix(BACKBONE_PREFIX): tensor.float()
        for name, tensor in load_file(file).items()
        if name.startswith(BACKBONE_PREFIX)
    }
    model.get_submodule("backbone.body").load_state_dict(state, strict=False)  # without batch norm's counters


def _one_thread(_worker: int) -> None:
    cv2.setNumThreads(1)
