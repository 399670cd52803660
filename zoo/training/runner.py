"""Training through mmengine's Runner."""

import pickle
import time
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
from zoo.training.pretraining import pretrain
from zoo.training.recipe import Recipe
from zoo.training.trainable import Trainable

BACKBONE_PREFIX = "backbone."
CHECKPOINTS_KEPT = 3


class PlainCheckpoint(Hook):  # type: ignore[misc]  # mmengine is untyped
    """Leaves mmengine's log history, pickled Python objects, out of checkpoints: weights_only=True then reads them."""

    priority = "VERY_LOW"

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict[str, Any]) -> None:  # noqa: ARG002 - mmengine's
        """Empties the history in place."""
        checkpoint["message_hub"] = {"log_scalars": {}, "runtime_info": {}, "resumed_keys": {}}


def train(
    config: Config, path: Path, recipe: Recipe, work_dir: Path, *, resume: bool = False
) -> tuple[nn.Module, float]:
    """Trains the config's model and returns it, with the minutes that it took; logs and checkpoints go to `work_dir`.

    `path` is the config's own. `resume` goes on from the last checkpoint in `work_dir`; its minutes then count from
    there. Raises InputError where there is none, or the backbone's file is missing.
    """
    if resume and not (work_dir / "last_checkpoint").is_file():
        raise InputError(f"--resume: no checkpoint in {work_dir}; train without --resume, or give its --work-dir")
    begin = time.perf_counter()
    torch.manual_seed(recipe.seed)
    model = MODELS.build(config.model)
    if recipe.backbone is not None:
        _load_backbone(model, path.parent / recipe.backbone)
    if recipe.pretrain is not None and not resume:
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
        optim_wrapper={"type": "OptimWrapper", **optimizer},
        param_scheduler=schedule if recipe.iterations > recipe.warmup else None,
        default_hooks={
            "logger": {"type": "LoggerHook", "interval": 20},
            "checkpoint": {
                "type": "CheckpointHook",
                "by_epoch": False,
                "interval": max(1, recipe.iterations // 10),
                "max_keep_ckpts": CHECKPOINTS_KEPT,
            },
        },
        custom_hooks=[PlainCheckpoint()],
        log_processor={"by_epoch": False},
        randomness={"seed": recipe.seed},
        resume=resume,
        default_scope="zoo",
        experiment_name=path.stem,
    )
    runner.train()
    return model, (time.perf_counter() - begin) / 60


def load_trained(config: Config, checkpoint: Path) -> tuple[nn.Module, int]:
    """The config's model with the weights of a checkpoint that `train` wrote, and the iteration it was written at."""
    try:
        content = torch.load(checkpoint, map_location="cpu", weights_only=True)
        trainable = Trainable(MODELS.build(config.model))
        trainable.load_state_dict(content["state_dict"])
        return trainable.model, int(content["meta"]["iter"])
    except (OSError, pickle.UnpicklingError, EOFError, KeyError, TypeError, RuntimeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"checkpoint {checkpoint} cannot be read: {reason}; give a .pth that tools/train.py wrote for this config"
        ) from error


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
