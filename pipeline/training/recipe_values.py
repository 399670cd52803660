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
LEAST = {
    "iterations": 1,
    "batch_size": 1,
    "num_scenes": 1,
    "warmup": 0,
    "seed": 0,
    "val_interval": 1,
    "patience": 1,
}
VALIDATIONS = 10  # of a training, where its recipe does not say how often
OWN_DATA = ("load_from", "val_interval", "patience", "mirror", "turn")
MOST_TURN = 180.0  # degrees
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


def own_data_values(section: Mapping[str, Any]) -> Iterator[str]:
    """Of a train section beside a `train_dataset`: what is for generated digits and photographs alone."""
    if section.get("pretrain") is not None:
        yield "pretrain: learns from digits; leave it out, or set pretrain=None, and give load_from or backbone"
    if section.get("num_scenes") is not None:
        yield "num_scenes: of generated digits; leave it out, or set num_scenes=None"
    if section.get("load_from") is not None and section.get("backbone") is not None:
        yield "load_from and backbone: both say what to start from; give one of them"


def generated_data_values(section: Mapping[str, Any]) -> Iterator[str]:
    """Of a train section without a `train_dataset`: what is for data of one's own alone."""
    for key in OWN_DATA:
        if section.get(key) is not None:
            yield f"{key}: for data of your own; give the config a train_dataset"


def image_values(section: Mapping[str, Any]) -> Iterator[str]:
    """Of a train section for images."""
    if "crop" in section and (not _is_pair(crop := section["crop"], int) or min(crop) < MIN_SIDE):
        yield f'argument "crop": got {crop!r}, expected (height, width) in whole pixels, {MIN_SIDE} or more'
    if section.get("turn") is not None:
        yield "turn: of point clouds; leave it out"


def cloud_values(section: Mapping[str, Any]) -> Iterator[str]:
    """Of a train section for point clouds."""
    for key in ("crop", "backbone", "pretrain"):
        if section.get(key) is not None:
            yield f"{key}: of images; leave it out"
    turn = section.get("turn")
    if isinstance(turn, int | float) and not 0 <= turn <= MOST_TURN:
        yield f'argument "turn": got {turn!r}, expected degrees, 0 to {MOST_TURN:g}'


def default_interval(section: Mapping[str, Any], iterations: int | None) -> int | None:
    """Iterations between two validations, for a section that does not say."""
    total = section.get("iterations") if iterations is None else iterations
    return max(1, total // VALIDATIONS) if type(total) is int else None


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
