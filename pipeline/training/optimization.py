"""What a recipe says of optimizer, rate and precision, as mmengine's Runner takes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from mmengine.device import get_device
from mmengine.optim import OptimWrapper
from mmengine.runner import autocast
from torch import nn

from pipeline.training.recipe import Recipe
from pipeline.training.recipe_values import DEFAULTS
from zoo.errors import InputError

WARMUP_FROM = 0.01  # of the rate


class BFloat16OptimWrapper(OptimWrapper):  # type: ignore[misc]  # mmengine is untyped
    """For CPUs, where mmengine's AmpOptimWrapper refuses to work.

    bfloat16 has the range of float32: unlike float16, it needs no scaling of the loss.
    """

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        """The forward pass runs in here."""
        with super().optim_context(model), autocast(dtype=torch.bfloat16):
            yield


def optim_wrapper(*, amp: bool) -> dict[str, Any]:
    """The `optim_wrapper` section of a Runner on the device that it will take, without the optimizer.

    Raises InputError where `amp` cannot be had there.
    """
    device = get_device()
    if not amp:
        return {"type": "OptimWrapper"}
    if device == "cuda":
        return {"type": "AmpOptimWrapper", "dtype": "float16", "loss_scale": "dynamic"}
    if device == "cpu":
        return {"type": BFloat16OptimWrapper}
    raise InputError(f"--amp: mmengine trains on {device} here, which has no mixed precision; train without --amp")


def optimization(recipe: Recipe, *, amp: bool) -> dict[str, Any]:
    """The `optim_wrapper` section. Weights decay; biases and the parameters of norms do not.

    Raises InputError where there is no mixed precision on the device.
    """
    return {
        **optim_wrapper(amp=amp),
        "optimizer": {**DEFAULTS, **recipe.optimizer},
        "clip_grad": {"max_norm": recipe.max_grad_norm},
        "paramwise_cfg": {"norm_decay_mult": 0.0, "bias_decay_mult": 0.0, "bypass_duplicate": True},  # shared heads
    }


def schedule(recipe: Recipe) -> list[dict[str, Any]] | None:
    """The `param_scheduler` section: warm-up, then a half cosine to 0. None, a constant rate, for shorter trainings."""
    if recipe.iterations <= recipe.warmup:
        return None
    warmup = recipe.warmup if recipe.warmup > 1 else 0  # of one iteration mmengine would never come to the full rate
    cosine = {"begin": warmup, "end": recipe.iterations, "T_max": recipe.iterations - warmup}
    falling = {"type": "CosineAnnealingLR", "by_epoch": False, **cosine}
    if warmup == 0:  # mmengine refuses a schedule without a step
        return [falling]
    rising = {"type": "LinearLR", "start_factor": WARMUP_FROM, "by_epoch": False, "begin": 0, "end": warmup}
    return [rising, falling]
