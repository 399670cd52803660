"""What is wrong with the values of a recipe, beyond their types."""

import inspect
import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from zoo.errors import nearest
from zoo.preprocess import MIN_SIDE

LAST_SEED = 2**32 - 1  # numpy's
LEAST = {"iterations": 1, "batch_size": 1, "num_scenes": 1, "warmup": 0, "seed": 0}
LEAST_OF_PRETRAINING = {"iterations": 1, "batch_size": 2, "side": MIN_SIDE}  # batch norm needs two at the last stage
DEFAULTS = {"weight_decay": 0.0}  # of an optimizer: mmengine insists on one
OPTIMIZERS = {
    name: kind
    for name, kind in vars(torch.optim).items()
    if inspect.isclass(kind) and issubclass(kind, torch.optim.Optimizer) and kind is not torch.optim.Optimizer
}


def recipe_values(section: Mapping[str, Any]) -> Iterator[str]:
    """Of a train section; what is of a wrong plain type is passed over, for `wrong_arguments` names that."""
    yield from _too_small(section, LEAST)
    if isinstance(seed := section.get("seed"), int) and seed > LAST_SEED:
        yield f'argument "seed": got {seed}, expected at most {LAST_SEED}'
    norm = section.get("max_grad_norm", 1.0)
    if isinstance(norm, int | float) and not 0 < norm < math.inf:
        yield f'argument "max_grad_norm": got {norm!r}, expected more than 0'
    if not _is_pair(crop := section["crop"], int) or min(crop) < MIN_SIDE:
        yield f'argument "crop": got {crop!r}, expected (height, width) in whole pixels, {MIN_SIDE} or more'
    if "scale" in section and not (_is_pair(scale := section["scale"], int | float) and 0 < scale[0] <= scale[1]):
        yield f'argument "scale": got {scale!r}, expected (lowest, highest), both more than 0'
    also = section.get("also", ())
    if not isinstance(also, list | tuple) or not all(isinstance(name, str) for name in also):
        yield f'argument "also": got {also!r}, expected a list of config files'
    if "optimizer" in section:
        yield from _optimizer(section["optimizer"])


def pretraining_values(section: Mapping[str, Any]) -> Iterator[str]:
    """Of a train section's `pretrain`."""
    yield from _too_small(section, LEAST_OF_PRETRAINING)
    lr = section.get("lr", 1.0)
    if isinstance(lr, int | float) and not 0 < lr < math.inf:
        yield f'argument "lr": got {lr!r}, expected more than 0'


def _too_small(section: Mapping[str, Any], least: Mapping[str, int]) -> Iterator[str]:
    for key, bound in least.items():
        if isinstance(value := section.get(key), int) and value < bound:
            yield f'argument "{key}": got {value}, expected {bound} or more'


def _is_pair(value: object, kind: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2  # noqa: PLR2004 - a pair
        and all(isinstance(entry, kind) and not isinstance(entry, bool) and math.isfinite(entry) for entry in value)
    )


def _optimizer(section: object) -> Iterator[str]:
    """Torch's own constructor judges the arguments."""
    if not isinstance(section, dict) or not isinstance(section.get("type"), str):
        yield f'argument "optimizer": got {section!r}, expected dict(type="AdamW", lr=...)'
        return
    options = {**DEFAULTS, **section}
    name = options.pop("type")
    if name not in OPTIMIZERS:
        yield f'optimizer: unknown type "{name}"; {nearest(name, OPTIMIZERS)}'
        return
    try:
        OPTIMIZERS[name]([nn.Parameter(torch.zeros(1, 1))], **options)
    except (TypeError, ValueError, RuntimeError) as error:
        yield f"optimizer: {name} cannot be made of these arguments: {error}"
