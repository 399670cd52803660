"""The inputs that parity runs on: the user's, and the data set's where those are too few."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.inputs.named_input import NamedInput, distinct, input_of, read_input
from zoo.config import ModelConfig
from zoo.datasets import config_dataset
from zoo.errors import InputError
from zoo.input_kinds import InputKind
from zoo.target import Target

FROM_DATASET = 4
LEAST = 2  # of different content: a graph that froze what it saw in one input must show


def parity_inputs(config: ModelConfig, paths: Sequence[str | Path], rule: Any, target: Target) -> list[NamedInput]:
    """The inputs at ``paths``, and FROM_DATASET of the config's data set where those are fewer than two contents.

    ``rule``: the preprocessing. Raises InputError for a file that is not a whole input, one that the target's sizes
    cannot take, and where two different inputs cannot be had.
    """
    kind = config.task.kind
    read = [read_input(kind, path) for path in paths]
    for path, one in zip(paths, read, strict=True):
        if fault := misfit(kind, one, rule, target):
            raise InputError(f"{kind.noun} {path}: {fault}; give another {kind.noun} or wider --dynamic bounds")
    chosen = distinct(read)
    if len(chosen) < LEAST:
        try:
            chosen = distinct([*chosen, *_from_dataset(config, rule, target)])
        except InputError as error:
            raise InputError(f"{error}; with --image twice or more no data set is needed") from error
    if len(chosen) < LEAST:
        raise InputError(
            f"config {config.path}: parity needs {LEAST} different {kind.noun}s that fit the target, got "
            f"{len(chosen)}; give --image twice or more"
        )
    return chosen


def misfit(kind: InputKind, one: NamedInput, rule: Any, target: Target) -> str | None:
    """Why the target's sizes, or the rule, cannot take the input; None where they can."""
    for axis, size in zip(kind.inputs[0].shape[1:], kind.slot_shape(rule, [one.value]), strict=True):
        if isinstance(axis, str) and size not in (bounds := target.axes[axis]):
            return f"its tensor would have {axis} {size}, the target takes {bounds.min} to {bounds.max}"
    try:
        kind.check_for(rule, one.value, kind.noun)
    except InputError as error:
        return str(error).removeprefix(f"{kind.noun}: ")
    return None


def _from_dataset(config: ModelConfig, rule: Any, target: Target) -> list[NamedInput]:
    if config.dataset is None:
        return []
    kind = config.task.kind
    dataset = config_dataset(config, "dataset")
    chosen: list[NamedInput] = []
    step = max(1, len(dataset) // FROM_DATASET)
    for index in sorted(range(len(dataset)), key=lambda index: index % step):  # evenly spread, then their neighbours
        one = input_of(kind, dataset.image_item(index))
        if misfit(kind, one, rule, target) is None:
            chosen.append(one)
        if len(chosen) == FROM_DATASET:
            break
    return chosen
