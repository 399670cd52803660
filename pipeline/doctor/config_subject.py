"""A config of ours as the doctor's subject: its module with the contract's outputs, and images of its data set."""

from collections.abc import Iterator, Mapping, Sequence

import torch

from pipeline.doctor.examined_model import ExaminedModel
from pipeline.doctor.example import Trial
from pipeline.inputs.named_input import NamedInput
from pipeline.inputs.parity_inputs import parity_inputs
from pipeline.parity.bound_task import bound_task
from pipeline.parity.graph_inputs import stacked
from zoo.build import build_model
from zoo.config import ModelConfig, config_target, load_config
from zoo.families import contract_module
from zoo.input_kinds import input_axes
from zoo.target import Target


def load_config_subject(path: str) -> ExaminedModel:
    """Raises InputError for a faulty config, and for weights that are not there."""
    config = load_config(path)
    target = config_target(config)
    export = config.export
    images = parity_inputs(config, [], config.preprocess, target)
    model = build_model(config)
    task = bound_task(config.task, model, export.forward, lambda: images, target, config.preprocess)
    module = contract_module(model, task, target.level, export.forward, target.layout, config.preprocess)
    rounds = list(_trials(config, target, images))
    axes = {
        name: {place: axis for place, axis in input_axes(name).items() if axis in target.dynamic_axes}
        for name in rounds[0].feed
    }
    options = {
        entry["name"]: {key: value for key, value in entry.items() if key != "name"}
        for entry in export.rewriters
        if not isinstance(entry, str)
    }
    return ExaminedModel(module.eval(), rounds, axes, target, options)


def _trials(config: ModelConfig, target: Target, images: Sequence[NamedInput]) -> Iterator[Trial]:
    """The first images, the others, one more in the batch, and another size where a side varies."""

    def trial(label: str, by: str, batch: int, sizes: Mapping[str, int], first: int = 0) -> Trial:
        chosen = [images[(first + place) % len(images)] for place in range(batch)]
        arrays = stacked(config.task.kind, chosen, sizes, config.preprocess, image_sizes=target.image_sizes).arrays
        return Trial(label, by, {name: torch.from_numpy(array) for name, array in arrays.items()})

    inputs = config.task.kind.plural
    batch = max(2, target.batch.min) if target.batch.dynamic else target.batch.opt
    usual = target.preferred
    other = {axis: side.min if side.min < side.opt else side.max for axis, side in target.sides.items()}
    yield trial(inputs, "", batch, usual)
    yield trial(f"other {inputs}", "numbers", batch, usual, first=batch)
    if target.batch.dynamic:
        count = batch + 1 if batch < target.batch.max else target.batch.min
        yield trial(f"batch={count}", "batch", count, usual)
    if other != usual:
        yield trial(" ".join(f"{axis}={size}" for axis, size in other.items()), "size", batch, other)
