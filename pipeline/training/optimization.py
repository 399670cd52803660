"""What a recipe says of optimizer and rate, as mmengine's Runner takes it."""

from typing import Any

from pipeline.training.mixed_precision import optim_wrapper
from pipeline.training.recipe import Recipe
from pipeline.training.recipe_values import DEFAULTS

WARMUP_FROM = 0.01  # of the rate


def optimization(recipe: Recipe, *, amp: bool) -> dict[str, Any]:
    """The `optim_wrapper` section. Weights decay; biases and the parameters of norms do not.

    Raises InputError where there is no mixed precision on the device.
    """
    return {
        **optim_wrapper(amp=amp),
        "optimizer": {**DEFAULTS, **recipe.optimizer},
        "clip_grad": {"max_norm": recipe.max_grad_norm},
        "paramwise_cfg": {"norm_decay_mult": 0.0, "bias_decay_mult": 0.0},
    }


def schedule(recipe: Recipe) -> list[dict[str, Any]] | None:
    """The `param_scheduler` section: warm-up, then a half cosine to 0. None, a constant rate, for shorter trainings."""
    if recipe.iterations <= recipe.warmup:
        return None
    cosine = {"begin": recipe.warmup, "end": recipe.iterations, "T_max": recipe.iterations - recipe.warmup}
    falling = {"type": "CosineAnnealingLR", "by_epoch": False, **cosine}
    if recipe.warmup == 0:  # mmengine refuses a schedule without a step
        return [falling]
    rising = {"type": "LinearLR", "start_factor": WARMUP_FROM, "by_epoch": False, "begin": 0, "end": recipe.warmup}
    return [rising, falling]
